"""ringcraft for PyTorch: attention with gradients on one device, and over the ranks of a torch.distributed group."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist

from ringcraft import _core
from ringcraft._arrays import mask_of, problem_of
from ringcraft._attention import Window


def _computing(x: torch.Tensor) -> torch.Tensor:
    """In the type that is computed in: half types in float32."""
    return x.detach() if x.dtype in (torch.float32, torch.float64) else x.detach().float()


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
        q, k, v, out, lse = ctx.saved_tensors
        problem, axes, threads = ctx.settings
        gradients = _core.backward(problem, _computing(q), _computing(k), _computing(v), out.detach(), lse, _computing(dout),
                                   axes, threads)
        return (*(torch.from_numpy(g).to(x.dtype) for g, x in zip(gradients, (q, k, v), strict=True)), None, None, None)


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, causal: bool = False, window: Window = None,
              cu_seqlens: Sequence[int] | None = None, softmax_scale: float | None = None, axes: str = "bhsd",
              return_lse: bool = False, threads: int | None = None) -> Any:
    """ringcraft.attention with gradients for q, k and v. lse has none. Half types are computed in float32."""
    problem = problem_of(q, k, axes, mask_of(causal, window, cu_seqlens), softmax_scale)
    out, lse = _Attention.apply(q, k, v, problem, axes, threads)
    return (out, lse) if return_lse else out


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
        ctx.types = (q.dtype, k.dtype, v.dtype)
        lse = torch.from_numpy(lse)
        ctx.mark_non_differentiable(lse)
        return torch.from_numpy(out).to(q.dtype), lse

    @staticmethod
    def backward(ctx: Any, dout: torch.Tensor, _: torch.Tensor) -> tuple[Any, ...]:
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
        self.layout, self.causal, self.window, self.softmax_scale, self.axes = layout, causal, window, softmax_scale, axes
        self.method = _core.Method(method, **options)
        self.group, self.threads = group, threads
        self._rank: _core.Rank | None = None

    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, seqlen: int | None = None,
                cu_seqlens: Sequence[int] | None = None) -> torch.Tensor:
        """out of this rank's rows. seqlen: of the whole sequence; without it the ranks add up their rows first."""
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
