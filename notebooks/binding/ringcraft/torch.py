"""ringcraft for PyTorch: attention with gradients on one device, and over the ranks of a torch.distributed group."""
from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch
import torch.distributed as dist

from ringcraft import _core, _sdpa
from ringcraft._arrays import mask_of, plain, problem_of, require_axes, require_whole
from ringcraft._attention import Window


def _require_tensors(**tensors: torch.Tensor) -> None:
    """Refuses what attention is not defined for, and what would be converted though nobody asked for it."""
    for name, x in tensors.items():
        if not torch.is_tensor(x):
            raise _core.Error(f"{name}: expected a tensor of PyTorch, got {type(x).__name__}; "
                              "ringcraft.attention takes other arrays")
        if x.dtype not in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
            raise _core.Error(f"{name}: expected float64, float32, bfloat16 or float16, got {x.dtype}; convert it first")
        first, expected = next(iter(tensors.items()))
        if x.dtype != expected.dtype:
            raise _core.Error(f"{name}: expected {expected.dtype}, as {first}, got {x.dtype}; "
                              "give all tensors one type")


def _computing(x: torch.Tensor) -> torch.Tensor:
    """In the type that is computed in: half types in float32."""
    computed: torch.Tensor = plain(x if x.dtype in (torch.float32, torch.float64) else x.float())
    return computed


def _require_no_second() -> None:
    """Refuses a gradient that is to be differentiated again: its own would be missing, and nobody would know."""
    if torch.is_grad_enabled():  # in a backward pass: with create_graph=True
        raise _core.Error("attention: expected a gradient that is not differentiated again, got create_graph=True; for second "
                          "derivatives take another attention, such as scaled_dot_product_attention with its math backend")


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, problem: _core.Problem, axes: str,
                threads: int | None) -> tuple[torch.Tensor, torch.Tensor]:
        results = _core.forward(problem, _computing(q), _computing(k), _computing(v), axes, threads)
        out, lse = (torch.from_numpy(x) for x in results)
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.settings = (problem, axes, threads)
        ctx.mark_non_differentiable(lse)
        return out.to(q.dtype), lse

    @staticmethod
    def backward(ctx: Any, dout: torch.Tensor, _: torch.Tensor) -> tuple[Any, ...]:
        _require_no_second()
        q, k, v, out, lse = ctx.saved_tensors
        problem, axes, threads = ctx.settings
        gradients = _core.backward(problem, _computing(q), _computing(k), _computing(v), out.detach(), lse, _computing(dout),
                                   axes, threads)
        return (*(torch.from_numpy(g).to(x.dtype) for g, x in zip(gradients, (q, k, v), strict=True)), None, None, None)


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool = False, window: Window = None,
              cu_seqlens: Sequence[int] | None = None, softmax_scale: float | None = None, axes: str = "bhsd",
              return_lse: bool = False, threads: int | None = None) -> Any:
    """ringcraft.attention with gradients for q, k and v. lse has none. Half types are computed in float32."""
    _require_tensors(q=q, k=k, v=v)
    require_whole(threads=threads)
    problem = problem_of(q, k, axes, mask_of(causal, window, cu_seqlens), softmax_scale)
    out, lse = _Attention.apply(q, k, v, problem, axes, threads)
    return (out, lse) if return_lse else out


@dataclass(frozen=True)
class Pace:
    """Seconds of one pass in each round: attention of this module, and PyTorch's."""
    backward: bool
    threads: int
    ours: list[float]
    theirs: list[float]

    @property
    def ratio(self) -> float:
        """How many times as fast ours is: the median of the rounds' ratios."""
        return median(self._ratios())

    def _ratios(self) -> list[float]:
        return [theirs / ours for ours, theirs in zip(self.ours, self.theirs, strict=True)]

    def __str__(self) -> str:
        least, *_, most = sorted(self._ratios())
        return (f"{'backward' if self.backward else 'forward':8} {self.threads:8} {1e3 * median(self.ours):9.1f} ms "
                f"{1e3 * median(self.theirs):9.1f} ms   {self.ratio:.2f} ({least:.2f}-{most:.2f})")


@dataclass(frozen=True)
class Paces:
    """Those of both passes, for each number of threads. print() shows them."""
    conditions: str
    rows: list[Pace]

    def __str__(self) -> str:
        head = "pass      threads    ringcraft      PyTorch   ratio (least-most)"
        return "\n".join([self.conditions, head, *map(str, self.rows)])


def compare_sdpa(*, heads: int = 4, tokens: int = 2048, head_dim: int = 64, causal: bool = True,
                 threads: Sequence[int] | None = None, rounds: int = 7) -> Paces:
    """The speed of attention beside torch's scaled_dot_product_attention: float32, one batch entry, forward and backward.

    Both take turns in every round, after one that warms up. threads: 1, and as many as this process may use. With one
    thread seconds are the processor's, with several those of the clock on the wall.
    """
    require_whole(heads=heads, tokens=tokens, head_dim=head_dim, rounds=rounds)
    if rounds < 2 or min(heads, tokens, head_dim) < 1:
        raise _core.Error(f"compare_sdpa: expected at least 2 rounds, a head, a token and a head_dim, got {rounds}, "
                          f"{heads}, {tokens} and {head_dim}; leave them out for the usual ones")
    inputs = torch.randn(4, 1, heads, tokens, head_dim)
    before, rows = torch.get_num_threads(), []
    try:
        for count in sorted({1, len(os.sched_getaffinity(0))}) if threads is None else threads:
            torch.set_num_threads(count)

            def ours(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, is_causal: bool, count: int = count) -> Any:
                return attention(q, k, v, causal=is_causal, threads=count)

            for backward in (False, True):
                times = [[_sdpa.timed(one, backward, inputs, causal)[count > 1] for one in (ours, _sdpa.sdpa)]
                         for _ in range(rounds + 1)][1:]
                rows.append(Pace(backward, count, *(list(column) for column in zip(*times, strict=True))))
    finally:
        torch.set_num_threads(before)
    return Paces(f"PyTorch {_sdpa.version()}; float32 [1, {heads}, {tokens}, {head_dim}], {'causal' if causal else 'full'}; "
                 f"medians of {rounds} rounds, in which both take turns", rows)


class _Messages:
    """What a rank of the library sends and receives, over torch.distributed."""

    def __init__(self, group: Any) -> None:
        self.group = group

    def start(self, operations: list[tuple[str, int, Any]]) -> list[Any]:
        works = []
        for kind, peer, data in operations:
            there = peer if self.group is None else dist.get_global_rank(self.group, peer)
            post = dist.isend if kind == "send" else dist.irecv
            works.append(post(torch.from_numpy(data), there, group=self.group))
        return works

    @staticmethod
    def wait(works: list[Any]) -> None:
        for work in works:
            work.wait()


class _Distributed(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, rank: _core.Rank, method: _core.Method,
                problem: _core.Problem, axes: str) -> tuple[torch.Tensor, torch.Tensor]:
        out, lse, saved = rank.forward(problem, method, _computing(q), _computing(k), _computing(v), axes)
        ctx.rank, ctx.saved, ctx.axes = rank, saved, axes
        ctx.save_for_backward(q)  # the library reads it where it lies: PyTorch refuses backward once it has been written to
        ctx.types = (q.dtype, k.dtype, v.dtype)
        lse = torch.from_numpy(lse)
        ctx.mark_non_differentiable(lse)
        return torch.from_numpy(out).to(q.dtype), lse

    @staticmethod
    def backward(ctx: Any, dout: torch.Tensor, _: torch.Tensor) -> tuple[Any, ...]:
        _require_no_second()
        _ = ctx.saved_tensors
        gradients = ctx.rank.backward(ctx.saved, _computing(dout), ctx.axes)
        return (*(torch.from_numpy(g).to(t) for g, t in zip(gradients, ctx.types, strict=True)), None, None, None, None)


class RingAttention(torch.nn.Module):
    """Attention over a sequence that the ranks of a group share, on the CPU (gloo).

    Every rank calls it with its shard of q, k and v, whose rows are those of ringcraft.positions(seqlen, ranks,
    layout)[rank], and gets its rows of the result; gradients flow back likewise. method and its options are those of
    ringcraft.attend.
    """

    def __init__(self, *, layout: str = "zigzag", method: str = "ring", causal: bool = False, window: Window = None,
                 softmax_scale: float | None = None, axes: str = "bhsd", group: Any = None, threads: int = 1,
                 **options: Any) -> None:
        super().__init__()
        for theirs, ours in (("is_causal", "causal"), ("scale", "softmax_scale"), ("window_size", "window")):
            if theirs in options:
                raise _core.Error(f"RingAttention: expected {ours}=, got {theirs}; rename it")
        _core.Problem(1, 1, 1, layout=layout)  # refuses what it does not know: here, and not in the midst of a job
        require_axes(axes)
        mask_of(causal, window)
        self.layout, self.causal, self.window, self.softmax_scale, self.axes = layout, causal, window, softmax_scale, axes
        self.method = _core.Method(method, **options)
        self.group, self.threads = group, threads
        self._rank: _core.Rank | None = None

    def extra_repr(self) -> str:
        """What stands in its repr."""
        return (f"{self.method}, layout={self.layout!r}, causal={self.causal}, window={self.window}, "
                f"softmax_scale={self.softmax_scale}, axes={self.axes!r}")

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, seqlen: int | None = None,
                cu_seqlens: Sequence[int] | None = None) -> torch.Tensor:
        """out of this rank's rows. seqlen: of the whole sequence; without it the ranks add up their rows first."""
        _require_tensors(q=q, k=k, v=v)
        if self._rank is None:
            messages = _Messages(self.group)
            self._rank = _core.Rank(dist.get_rank(self.group), dist.get_world_size(self.group), messages.start,
                                    messages.wait, self.threads)
        if seqlen is None:
            rows = torch.tensor([q.shape[self.axes.index("s")]])
            dist.all_reduce(rows, group=self.group)
            seqlen = int(rows)
        problem = problem_of(q, k, self.axes, mask_of(self.causal, self.window, cu_seqlens), self.softmax_scale,
                             ranks=dist.get_world_size(self.group), layout=self.layout, seqlen=seqlen)
        out: torch.Tensor = _Distributed.apply(q, k, v, self._rank, self.method, problem, self.axes)[0]
        return out
