"""Attention on one device and on ranks of this process."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np

from ringcraft import _core
from ringcraft._arrays import (Array, alike, like, mask_of, namespace_of, plain, problem_of, require_arrays,
                               require_no_history, require_numbers, require_truths, require_whole)

Window = int | Sequence[int | None] | None


def attention(q: Array, k: Array, v: Array, *, causal: bool = False, window: Window = None,
              cu_seqlens: Sequence[int] | None = None, softmax_scale: float | None = None, axes: str = "bhsd",
              return_lse: bool = False, threads: int | None = None) -> Any:
    """Exact attention on one device.

    q [batch, heads, seqlen, head_dim]; k, v [batch, kv_heads, seqlen, head_dim]: float32 or float64, all of one type, or
    float16 or bfloat16, computed in float32.
    axes: their order, "bhsd", "bshd" or "shd" (packed). kv_heads divides heads. See mask_of for the masks.
    Returns out, shaped as q, or with return_lse (out, lse); lse [batch, heads, seqlen] is the natural logarithm of
    the softmax denominator. Arrays of the library that q belongs to; contiguous inputs are not copied.
    """
    require_arrays(q=q, k=k, v=v)
    require_no_history(q=q, k=k, v=v)
    require_whole(threads=threads)
    require_truths(return_lse=return_lse)
    problem = problem_of(q, k, axes, mask_of(causal, window, cu_seqlens), softmax_scale)
    out, lse = _core.forward(problem, plain(q), plain(k), plain(v), axes, threads)
    return (alike(out, q), like(lse, q)) if return_lse else alike(out, q)


def attention_backward(dout: Array, q: Array, k: Array, v: Array, out: Array, lse: Array, *, causal: bool = False,
                       window: Window = None, cu_seqlens: Sequence[int] | None = None,
                       softmax_scale: float | None = None, axes: str = "bhsd",
                       threads: int | None = None) -> tuple[Array, Array, Array]:
    """The gradients dq, dk, dv of sum(out * dout), from what attention(..., return_lse=True) returned.

    dout and out are shaped as q, lse [batch, heads, seqlen]; dq, dk, dv as q, k, v. The options are those of attention.
    """
    require_arrays(dout=dout, q=q, k=k, v=v, out=out, lse=lse)
    require_no_history(dout=dout, q=q, k=k, v=v, out=out, lse=lse)
    require_whole(threads=threads)
    problem = problem_of(q, k, axes, mask_of(causal, window, cu_seqlens), softmax_scale)
    dq, dk, dv = _core.backward(problem, plain(q), plain(k), plain(v), plain(out), plain(lse), plain(dout), axes, threads)
    return alike(dq, q), alike(dk, q), alike(dv, q)


@dataclass(frozen=True)
class Costs:
    """Costs of one pass, one entry for each rank."""
    bytes_sent: list[int]
    messages_sent: list[int]
    peak_bytes: list[int]  #: of the tensors that the rank held at once
    pairs: list[int]       #: visible (query, key) pairs of one head
    clock: list[float] = field(default_factory=list)      #: virtual seconds
    computing: list[float] = field(default_factory=list)  #: of these: with blocks
    seconds: float = 0.0   #: of all ranks together: real ones of a run, virtual ones of a simulation
    exposed: float = 0.0   #: of a simulation: the share of the pass in which a rank waits, on average
    theory: Costs | None = None  #: bytes, messages, peak and pairs by the closed forms

    @staticmethod
    def of(figures: dict[str, Any]) -> Costs:
        """Those that the library returns by name."""
        figures = dict(figures)
        theory = figures.pop("theory")
        return Costs(**figures, theory=Costs(**theory))


@dataclass(frozen=True)
class Run:
    """Results of a method on ranks, whole, in the order of the sequence."""
    out: Array                #: [batch, heads, seqlen, head_dim], in the order of axes
    lse: Array                #: [batch, heads, seqlen]
    dq: Array | None          #: as q; None without dout
    dk: Array | None          #: as k
    dv: Array | None          #: as v
    forward: Costs
    backward: Costs | None
    trace: _core.Recorded | None  #: what every rank did when, if it was asked for

    def __repr__(self) -> str:
        gradients = "" if self.dq is None else ", with gradients"
        return f"<Run: out {list(self.out.shape)} of {len(self.forward.pairs)} ranks{gradients}>"


def attend(q: Array, k: Array, v: Array, dout: Array | None = None, *, ranks: int, layout: str = "zigzag",
           method: str = "ring", causal: bool = False, window: Window = None, cu_seqlens: Sequence[int] | None = None,
           per_sequence: bool = False, softmax_scale: float | None = None, axes: str = "bhsd", ulysses: int = 0,
           gather_heads: int = 0, node: int = 0, schedule: str = "", threads: int = 1, trace: bool = False,
           seconds_per_pair: float = 0.0, seconds_per_message: float = 0.0, seconds_per_byte: float = 0.0) -> Run:
    """Runs a method on `ranks` threads of this process, each with its shard, and puts the results together.

    method: see methods(); ulysses, gather_heads, node and schedule are its options. layout: see layouts(). The
    seconds_per_... give computing and messages a cost on the virtual clocks of Costs.clock. Inputs as in attention.
    """
    require_arrays(q=q, k=k, v=v, **({} if dout is None else {"dout": dout}))
    require_no_history(q=q, k=k, v=v, dout=dout)
    require_truths(per_sequence=per_sequence, trace=trace)
    require_numbers(seconds_per_pair=seconds_per_pair, seconds_per_message=seconds_per_message,
                    seconds_per_byte=seconds_per_byte)
    require_whole(ranks=ranks, ulysses=ulysses, gather_heads=gather_heads, node=node, threads=threads)
    problem = problem_of(q, k, axes, mask_of(causal, window, cu_seqlens), softmax_scale, ranks=ranks, layout=layout,
                         per_sequence=per_sequence)
    choice = _core.Method(method, ulysses=ulysses, gather_heads=gather_heads, node=node, schedule=schedule)
    result = _core.attend(problem, plain(q), plain(k), plain(v), None if dout is None else plain(dout), axes, choice,
                          1 if threads is None else threads, trace, seconds_per_pair, seconds_per_message, seconds_per_byte)
    answer = {name: (like if name == "lse" else alike)(array, q) for name, array in result["answer"].items()}
    return Run(out=answer["out"], lse=answer["lse"], dq=answer.get("dq"), dk=answer.get("dk"), dv=answer.get("dv"),
               forward=Costs.of(result["forward"]),
               backward=Costs.of(result["backward"]) if "backward" in result else None, trace=result.get("trace"))


def oracle(q: Array, k: Array, v: Array, dout: Array | None = None, *, causal: bool = False, window: Window = None,
           cu_seqlens: Sequence[int] | None = None, softmax_scale: float | None = None,
           axes: str = "bhsd") -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """What is right, in float64, and the scale of every element: the sum of the absolute values of its terms.

    q, dout [batch, heads, seqlen, head_dim]; k, v [batch, kv_heads, seqlen, head_dim], in the order of axes. Two dicts of
    arrays shaped alike, out, lse [batch, heads, seqlen] and, if there is a dout, dq, dk, dv. Correct code in float64 stays
    below 1e-12 of the scale. Plain loops over pairs, far slower than attention, with which they share no code.
    """
    require_arrays(q=q, k=k, v=v, **({} if dout is None else {"dout": dout}))
    problem = problem_of(q, k, axes, mask_of(causal, window, cu_seqlens), softmax_scale)
    return _core.oracle(problem, plain(q), plain(k), plain(v), None if dout is None else plain(dout), axes)


MOST_RANKS = 1 << 16  #: whose positions are listed


def positions(seqlen: int, ranks: int, layout: str = "zigzag") -> list[np.ndarray]:
    """For each rank the positions of its tokens, [rows], increasing."""
    require_whole(ranks=ranks)
    if ranks is not None and ranks > MOST_RANKS:
        raise _core.Error(f"ranks: expected at most {MOST_RANKS}, got {ranks}; Problem.positions(rank) is for one of more")
    problem = _core.Problem(seqlen, 1, 1, ranks=ranks, layout=layout)
    return [problem.positions(rank) for rank in range(ranks)]


def _require_axis(axis: int, x: Array) -> None:
    n = len(x.shape)
    if isinstance(axis, bool) or not isinstance(axis, Integral) or not -n <= axis < n:
        raise _core.Error(f"axis: expected that of the tokens in an array of shape {list(x.shape)}, got {axis!r}; "
                          "it is 2 in [batch, heads, seqlen, head_dim]")


def scatter(x: Array, ranks: int, layout: str = "zigzag", axis: int = 2) -> list[Array]:
    """The shards of an array whose axis `axis` counts tokens, one for each rank."""
    require_arrays(x=x)
    _require_axis(axis, x)
    index = (slice(None),) * (axis % len(x.shape))
    return [x[(*index, rows)] for rows in positions(int(x.shape[axis]), ranks, layout)]


def gather(shards: Sequence[Array], layout: str = "zigzag", axis: int = 2) -> Array:
    """The array that scatter took apart."""
    if not isinstance(shards, Sequence):
        raise _core.Error(f"shards: expected a list with one for each rank, got {type(shards).__name__}; see scatter")
    if not shards:
        raise _core.Error("shards: expected at least one, got none; give one for each rank")
    for shard in shards:
        require_arrays(shards=shard)
        _require_axis(axis, shard)
    axis %= len(shards[0].shape)
    if len({(*shard.shape[:axis], *shard.shape[axis + 1:]) for shard in shards}) > 1:
        raise _core.Error("shards: expected the same shape, but for the tokens, got "
                          f"{', '.join(str(list(shard.shape)) for shard in shards)}; axis={axis} counts tokens")
    rows = [int(shard.shape[axis]) for shard in shards]
    dealt = positions(sum(rows), len(shards), layout)
    if [len(own) for own in dealt] != rows:
        raise _core.Error(f"shards: expected {[len(own) for own in dealt]} tokens ({layout}, {sum(rows)} tokens), "
                          f"got {rows}; check the layout and the axis of tokens")
    whole = namespace_of(shards[0])
    joined = whole.cat(list(shards), axis) if hasattr(whole, "cat") else whole.concatenate(shards, axis)
    return joined[(*((slice(None),) * axis), np.argsort(np.concatenate(dealt)))]
