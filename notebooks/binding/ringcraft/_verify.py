"""verify: is this attention right, and if not, where first, and why?"""
from __future__ import annotations

import importlib.util
import inspect
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypedDict

from ringcraft import _core
from ringcraft._arrays import require_axes, require_truths
from ringcraft._calls import TYPES, Caller
from ringcraft._cases import Abilities, cases_for, require_callable, settings_of
from ringcraft._judge import Judge
from ringcraft._verdicts import Verification

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Options(TypedDict, total=False):
    """The options of verify, which explains them, but for simplify."""
    cases: Sequence[_core.Case] | None
    full: bool
    arrays: str
    dtype: Any
    axes: str
    gradients: bool
    backward: Callable[..., Any] | None
    causal: bool | None
    windows: bool | None
    packed: bool | None
    grouped: bool
    batched: bool
    multiple: int
    head_dims: Sequence[int] | None
    ranks: int | None
    layout: str
    per_sequence: bool
    results: str
    tf32: bool


def _name_of_type(dtype: Any) -> Any:
    """"bfloat16" of torch.bfloat16, jax.numpy.bfloat16 and numpy.dtype("bfloat16"), too; others as they came."""
    if isinstance(dtype, str):
        return dtype
    name = getattr(dtype, "__name__", str(dtype)).removeprefix("torch.")
    return name if name in TYPES else dtype


def examination(function: Callable[..., Any], *, cases: Sequence[_core.Case] | None = None, full: bool = False,
                arrays: str = "numpy", dtype: Any = "float32", axes: str = "bhsd", gradients: bool = True,
                backward: Callable[..., Any] | None = None, causal: bool | None = None, windows: bool | None = None,
                packed: bool | None = None, grouped: bool = True, batched: bool = True, multiple: int = 1,
                head_dims: Sequence[int] | None = None, ranks: int | None = None, layout: str = "contiguous",
                per_sequence: bool = False, results: str = "whole", tf32: bool = False,
                caller: type[Caller] = Caller) -> tuple[list[_core.Case], Judge]:
    """The cases that verify asks, and what judges each of them. The options are those of verify."""
    require_truths(full=full, gradients=gradients, grouped=grouped, batched=batched, per_sequence=per_sequence, tf32=tf32)
    require_truths(**{name: value for name, value in (("causal", causal), ("windows", windows), ("packed", packed))
                      if value is not None})
    if arrays == "numpy" and type(dtype).__module__ == "torch":
        raise _core.Error(f'arrays: expected "torch" with dtype={dtype}, got "numpy"; say arrays="torch"')
    dtype = _name_of_type(dtype)
    for name, value, choices in (("arrays", arrays, ("numpy", "torch", "jax")), ("results", results, ("whole", "shards")),
                                 ("layout", layout, tuple(_core.layouts())),
                                 ("dtype", dtype, TYPES[::-1])):
        if not isinstance(value, str) or value not in choices:
            raise _core.Error(f"{name}: expected one of {', '.join(choices)}, got {value!r}; see help(ringcraft.verify)")
    for option, told in (('results="shards"', results == "shards"), (f'layout="{layout}"', layout != "contiguous"),
                         ("per_sequence=True", per_sequence)):
        if told and ranks is None:
            raise _core.Error(f"ranks: expected the number of ranks with {option}, got None; say ranks=")
    require_callable(function, "verify", ("q", "k", "v"))
    if backward is not None:
        require_callable(backward, "backward", ("q", "k", "v", "dout"))
    require_axes(axes)
    for name, given in (("head_dims", head_dims), ("cases", cases)):
        if given is not None and (isinstance(given, str) or not hasattr(given, "__len__")):
            raise _core.Error(f"{name}: expected a list, got {given!r}; see help(ringcraft.verify)")
    head_dims = None if head_dims is None else [*head_dims]
    if arrays != "numpy" and importlib.util.find_spec(arrays) is None:
        raise _core.Error(f"arrays: expected an installed package, got {arrays!r}, which is not; pip install {arrays}")
    for case in cases or ():
        if not isinstance(case, _core.Case):
            raise _core.Error(f"cases: expected a list of ringcraft.Case, got {case!r} in it; "
                              "ringcraft.case_table() has some")
    for name, number, most in (("ranks", 1 if ranks is None else ranks, 256), ("multiple", multiple, 4096),
                               *(("head_dims", width, 4096) for width in head_dims or ())):  # what can be judged in minutes
        if isinstance(number, bool) or not isinstance(number, Integral) or not 1 <= number <= most:
            raise _core.Error(f"{name}: expected a whole number from 1 to {most}, got {number!r}; see help(ringcraft.verify)")
    settings = settings_of(function)
    told = bool({"mask", "problem"} & settings)
    if causal is None and not (told or {"causal", "window"} & settings):
        causal = False
    can = Abilities(
        settings=settings, causal=causal, windows=told or "window" in settings if windows is None else windows,
        packed=told or "cu_seqlens" in settings if packed is None else packed,
        scales=bool({"softmax_scale", "problem"} & settings), grouped=grouped, batched=batched and "b" in axes,
        headed="h" in axes, multiple=multiple, head_dims=tuple(head_dims) if head_dims else None, ranks=ranks, layout=layout,
        per_sequence=per_sequence)
    judge_one = Judge(caller(function, can, arrays=arrays, dtype=dtype, axes=axes, backward=backward,
                             gradients=gradients, shards=results == "shards"), tf32)
    for case in cases or ():
        p = case.problem
        if p.ranks != (ranks or p.ranks) or (p.batch > 1 and "b" not in axes) or (p.heads > 1 and "h" not in axes):
            raise _core.Error(f"cases: expected those that axes={axes!r} and ranks={ranks} allow, got {case.name}; "
                              "make others, or leave them out")
    return cases_for(can, full) if cases is None else list(cases), judge_one


def require_known(options: Mapping[str, Any], *more: str) -> None:
    """Refuses options that are neither those of verify nor these."""
    for name in options:
        if name not in Options.__annotations__:
            raise _core.Error(f"verify: expected the options {', '.join((*Options.__annotations__, *more))}, got {name}; "
                              "rename it, or leave it out")


def _told(cases: Sequence[_core.Case]) -> Iterator[_core.Case]:
    """The cases one after the other; on a terminal with their number, once they have taken some seconds."""
    begin, told = time.monotonic(), False
    try:
        for i, case in enumerate(cases, 1):
            if sys.stderr is not None and sys.stderr.isatty() and time.monotonic() - begin > 2:
                told = True
                print(f"\rringcraft.verify: case {i} of {len(cases)}", end="", file=sys.stderr, flush=True)
            yield case
    finally:
        if told:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def examined(function: Callable[..., Any], cases: Sequence[_core.Case], judge_one: Judge,
             simplify: bool) -> Verification:
    """The verdicts on all cases, and a small wrong one."""
    verdicts = judge_one.compared([judge_one(case) for case in _told(cases)])
    misfits = [verdict.misfit for verdict in verdicts if verdict.misfit]
    if 10 * len(misfits) > 9 * len(verdicts):  # a shape may fit some by chance: it is axes or layout that do not
        raise _core.Error(misfits[0])
    found = Verification(getattr(function, "__name__", type(function).__name__), verdicts,
                         noticed=judge_one.caller.noticed)
    if found.example is None:
        return found
    if found.cause is None:
        judge_one.look_for_other_axes(found.example.case)
    if unsteady := judge_one.unsteady(found.example):
        return replace(found, unsteady=unsteady)
    if not simplify:
        return found
    return replace(found, smallest=judge_one.simplest(found.example, found.cause))


def verify(function: Callable[..., Any], *, simplify: bool = True, **options: Unpack[Options]) -> Verification:
    """Judges an attention function over a table of cases, and diagnoses what is wrong.

    function(q, k, v, ...) returns out, (out, lse), or a dict with some of out, lse, dq, dk, dv. It gets, of causal,
    window (left, right; -1 is no limit), cu_seqlens, softmax_scale, mask ([seqlen, seqlen] of bool) and problem,
    those that its parameters name, and is asked for no mask that it cannot be told of. mask is True where a query
    sees a key. lse is the natural logarithm of the sum of exp(scores).

    cases: a list of Case, by default up to 40 of the table, or all with full=True.
    arrays: "numpy", "torch" or "jax". dtype: of the inputs, such as "bfloat16" or torch.bfloat16. axes: of q, k, v and
    of what it returns.
    gradients: with torch and jax by automatic differentiation; otherwise, or if given, backward(q, k, v, dout, ...)
    returns dq, dk, dv.
    causal: what a function without that parameter computes. windows, packed: whether to ask for them.
    grouped: kv_heads may be less than heads. batched: batch may be more than 1. multiple: of seqlen. head_dims: the
    only ones that it takes. tf32: float32 products are rounded to TF32.
    ranks, layout: of a function that computes on ranks, so that mistakes are told rank by rank. It gets the whole
    sequence. per_sequence: each packed sequence is dealt to the ranks by itself. results: "whole", in the order of the sequence; or "shards", a list with the results of each rank, in
    the order of its own rows.
    simplify: looks for a small wrong case with the same cause.
    """
    require_known(options, "simplify")
    require_truths(simplify=simplify)
    return examined(function, *examination(function, **options), simplify)


def shown(function: Callable[..., Any], but: Collection[str] = ()) -> inspect.Signature:
    """Its signature, with the options of verify one by one, for help() and editors that look at objects."""
    own = [parameter for parameter in inspect.signature(function).parameters.values()
           if parameter.kind is not parameter.VAR_KEYWORD]
    options = [option for option in inspect.signature(examination).parameters.values()
               if option.name in Options.__annotations__ and option.name not in but]
    return inspect.Signature([*own, *options], return_annotation="Verification")


setattr(verify, "__signature__", shown(verify))
