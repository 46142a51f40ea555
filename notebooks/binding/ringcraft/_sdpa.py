"""Times attention of PyTorch tensors on the CPU, for ringcraft.torch.compare_sdpa and for `./ringcraft bench`.

bench hands this text to a Python that has PyTorch and need not have ringcraft: it imports nothing else.
"""
import time
from collections.abc import Callable, Iterable
from typing import Any, TextIO

import torch

sdpa = torch.nn.functional.scaled_dot_product_attention


def version() -> str:
    """PyTorch's version and its instruction set: "2.8.0, AVX2"."""
    return f"{torch.__version__.split('+')[0]}, {torch.backends.cpu.get_cpu_capability()}"


def timed(attention: Callable[..., Any], backward: bool, inputs: torch.Tensor, causal: bool) -> tuple[float, float]:
    """Seconds of one run: of the processor, all threads together, and of the clock on the wall.

    inputs: q, k, v and dout, [4, batch, heads, tokens, head_dim]. The forward pass of a backward pass is not timed.
    """
    leaves = [x.detach().requires_grad_(backward) for x in inputs[:3]]
    out = attention(*leaves, is_causal=causal) if backward else None
    processor, wall = time.process_time(), time.perf_counter()
    if out is None:
        attention(*leaves, is_causal=causal)
    else:
        torch.autograd.grad(out, leaves, inputs[3])
    return time.process_time() - processor, time.perf_counter() - wall


def serve(orders: Iterable[str], answers: TextIO) -> None:
    """Answers each line "backward heads tokens head_dim causal threads" with both times of scaled_dot_product_attention."""
    print(version(), file=answers)
    inputs: dict[tuple[int, int, int], torch.Tensor] = {}
    for order in orders:
        backward, heads, tokens, head_dim, causal, threads = [int(word) for word in order.split()]
        shape = heads, tokens, head_dim
        if shape not in inputs:
            inputs[shape] = torch.randn(4, 1, *shape)
        torch.set_num_threads(threads)
        print(*timed(sdpa, backward == 1, inputs[shape], causal == 1), file=answers)
