#!/usr/bin/env python3
"""from_python.py: others' rings, as published and with mistakes planted, judged by ringcraft.verify from Python.

Every program runs on three gloo ranks. One that is right must be right in all cases; one with a mistake must be wrong, and
where the mistake has an id the cause that most wrong cases share must bear it. Exit codes: 0 passed, 1 failed.
"""
import os
import socket
import sys
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE / "stubs")]
warnings.filterwarnings("ignore")
os.environ["PYTHONWARNINGS"] = "ignore"
sys.dont_write_bytecode = True

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from ringcraft._verify import examination  # noqa: E402
from ringcraft.testing import verify_distributed  # noqa: E402

import programs  # noqa: E402

RANKS = 3
# Limits that all of them share: lengths that the ranks divide twice, no windows and packs in this form, widths of flash-attn.
EVEN = {"axes": "bshd", "multiple": 2 * RANKS, "windows": False, "packed": False}
MOST = 12  # cases for each: some of them are as large as a flash kernel needs


def ring_flash(name):
    import ring_flash_attn
    function = getattr(ring_flash_attn, name)

    def ring(q, k, v, causal):
        out, lse, _ = function(q, k, v, causal=causal, return_attn_probs=True)
        return {"out": out}

    return ring


def lucidrains(striped):
    from ring_attention_pytorch import ring_flash_attn

    def ring(q, k, v):
        return ring_flash_attn(q, k, v, causal=False, bucket_size=q.shape[1], ring_reduce_col=True,
                               striped_ring_attn=striped)

    return ring


def torch_ring(q, k, v, causal):
    """PyTorch's, forward and backward by hand: its gradients are judged in foreign_test.py."""
    from torch.distributed.tensor.experimental._context_parallel import _attention as ring
    ring._cp_options.enable_load_balance = False
    q, k, v = (x.detach().transpose(1, 2).contiguous() for x in (q, k, v))
    out, lse, *_ = ring._templated_ring_attention(
        dist.group.WORLD, 2, torch.ops.aten._scaled_dot_product_flash_attention_for_cpu, q, k, v, is_causal=causal,
        dropout_p=0.0)
    return {"out": out.transpose(1, 2), "lse": lse.transpose(1, 2)}


def questions():
    """(name, function, options, right, faults): right, as published; patches by name, with the id of their cause or None.

    ring-flash-attn is for half types: in float32 its sums of gradients are overwritten by the next block, which verify finds.
    """
    import ring_flash_attn.ring_flash_attn as contiguous
    import ring_flash_attn.zigzag_ring_flash_attn as zigzag
    for name, layout, module in (("ring_flash_attn_func", "contiguous", contiguous),
                                 ("zigzag_ring_flash_attn_func", "zigzag", zigzag)):
        faults = {fault: (patch, {"equal weights for all blocks": "RF7", "no delta": "BW1"}.get(fault))
                  for fault, patch in programs.ring_flash_faults(module).items()}
        options = {"layout": layout, "head_dims": [32], "dtype": "bfloat16"}
        if layout == "zigzag":  # it is for causal masks alone
            options["causal"] = True
        yield f"ring-flash-attn, {name}", ring_flash(name), options, True, faults
    over_the_ring = {"layout": "contiguous", "head_dims": [32], "causal": False, "grouped": False}
    yield "ring-attention-pytorch, forward", lucidrains(False), {**over_the_ring, "gradients": False}, True, {}
    # As published, dk and dv add up in one tensor on their way, and query head h takes key head h modulo kv_heads.
    yield "ring-attention-pytorch, gradients", lucidrains(False), over_the_ring, False, {}
    yield "ring-attention-pytorch, grouped heads", lucidrains(False), {**over_the_ring, "grouped": True}, False, {}
    yield "PyTorch, _templated_ring_attention", torch_ring, {"layout": "contiguous", "grouped": False, "head_dims": [32]}, True, {
        fault: (patch, None) for fault, patch in programs.torch_ring_faults().items() if "weights" in fault}


def work(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=RANKS)
    failed = 0

    def told(name, found, good):
        nonlocal failed
        failed += not good
        if rank == 0:
            cause = f": {found.cause.id}, {found.cause.sentence}" if found.cause else ""
            print(f"{'ok' if good else 'FAILED'}  {name}: {len(found.wrong)} of {len(found.verdicts)} cases wrong{cause}", flush=True)
            if not good:
                print(found, flush=True)

    for name, function, options, right, faults in questions():
        settings = {**EVEN, **options}
        cases, _ = examination(function, arrays="torch", ranks=RANKS, **settings)
        settings["cases"] = cases[::max(1, len(cases) // MOST)]
        found = verify_distributed(function, simplify=False, **settings)
        told(name, found, found.right == right)
        for fault, (patch, cause) in faults.items():
            with programs.patched(*patch):
                found = verify_distributed(function, simplify=False, **settings)
            ids = {each.id for verdict in found.wrong for each in verdict.causes}
            told(f"{name}, {fault}", found, bool(found.wrong) and (cause is None or any(i.startswith(cause) for i in ids)))
    dist.destroy_process_group()
    if failed:
        raise SystemExit(1)


def main():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(work, (port,), nprocs=RANKS)


if __name__ == "__main__":
    main()
