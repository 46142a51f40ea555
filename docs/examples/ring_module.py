"""Ring attention over the ranks of a gloo job: torchrun --nproc-per-node 4 docs/examples/ring_module.py"""
import ringcraft
import torch
import torch.distributed as dist
from ringcraft.testing import verify_distributed
from ringcraft.torch import RingAttention

dist.init_process_group("gloo")
rank, ranks = dist.get_rank(), dist.get_world_size()

torch.manual_seed(0)  # the same sequence everywhere, to deal it
q, k, v = (torch.randn(1, 4, 97, 16) for _ in range(3))
mine = torch.tensor(ringcraft.positions(97, ranks, "zigzag")[rank])
q, k, v = (x[:, :, mine].requires_grad_() for x in (q, k, v))
ring = RingAttention(layout="zigzag", causal=True)
ring(q, k, v, seqlen=97).sum().backward()


def my_ring(q, k, v):  # any function of a rank's shards
    return ring(q, k, v)


found = verify_distributed(my_ring, layout="zigzag", causal=True)
if rank == 0:
    print(found)
dist.destroy_process_group()
