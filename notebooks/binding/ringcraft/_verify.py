"""verify: is this attention right, and if not, where first, and why?"""
from __future__ import annotations

import importlib.util
import inspect
import json
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from ringcraft import _core
from ringcraft._arrays import Array, numbers, require_axes, require_truths, transposed
from ringcraft._cases import Abilities, cases_for, code_of, require_callable, settings_for, settings_of, smaller
from ringcraft._ending import kept_running

if TYPE_CHECKING:
    from typing_extensions import Unpack

GRADIENTS = ("dq", "dk", "dv")
TYPES = ("bfloat16", "float16", "float32", "float64")  #: the narrowest first
MOST_ASKED = 6  # right cases of a kind, plain ones, that rule a mistake out together
Kind = tuple[bool, bool, bool, bool]


@dataclass(frozen=True)
class Cause:
    """A likely reason for an error."""
    id: str        #: the same mistake has the same id everywhere
    sentence: str  #: what the mistake is
    question: str  #: one that helps to find it

    @property
    def general(self) -> bool:
        """Whether it says which numbers are wrong rather than by which mistake."""
        return _core.is_general(self.id)


@dataclass(frozen=True)
class Verdict:
    """The verdict on one case."""
    case: _core.Case
    right: bool
    text: str                     #: for people
    data: dict[str, Any] = field(default_factory=dict, repr=False)  #: for programs; empty if nothing could be judged
    narrowed: str = ""            #: the type of its results, if it is narrower than that of its inputs

    def __repr__(self) -> str:
        return f"<Verdict: {'right' if self.right else 'wrong'}, {self.case.name}{_named_causes(self.causes)}>"

    @property
    def causes(self) -> list[Cause]:
        """The likely causes, the likeliest first."""
        return [Cause(cause["id"], cause["sentence"], cause["question"])
                for row in self.data.get("rows", []) for cause in row["causes"]]

    @property
    def has_numbers(self) -> bool:
        """Whether a row is wrong without being NaN or infinite."""
        return any("x" in signs for row in self.data.get("rows", []) for drawn in row["maps"] for signs in drawn["ranks"])


@dataclass(frozen=True)
class Verification:
    """The verdict on a function over all cases. True if every case is right, and there was at least one."""
    name: str
    verdicts: list[Verdict]
    smallest: Verdict | None = None  #: a wrong case that is as simple as could be found, with the same cause

    @property
    def right(self) -> bool:
        """Whether every case is right, and there was at least one."""
        return bool(self.verdicts) and not self.wrong

    @property
    def wrong(self) -> list[Verdict]:
        """The verdicts on wrong cases."""
        return [verdict for verdict in self.verdicts if not verdict.right]

    @property
    def cause(self) -> Cause | None:
        """The cause that explains most of the wrong cases, and at least half of them: one alone may fit others by chance.

        Cases without a wrong number that is a number count only if there are no others: NaN equals the NaN of many
        mistakes. Its sentence is that of the example.
        """
        shared = self._shared()
        return next((cause for cause in self.example.causes if cause.id == shared), None) if self.example else None

    def _shared(self) -> str | None:
        """The id of the cause."""
        telling = [verdict for verdict in self.wrong if verdict.has_numbers] or self.wrong
        found = [cause for verdict in telling for cause in verdict.causes]
        counts = Counter(cause.id for verdict in telling for cause in {cause.id: cause for cause in verdict.causes}.values())
        known = [cause for cause in found if 2 * counts[cause.id] >= len(telling)]
        best = max(known, key=lambda cause: (not cause.general, counts[cause.id]), default=None)
        return best.id if best else None

    def agreeing(self) -> list[Verdict]:
        """The wrong cases that this cause explains."""
        shared = self._shared()
        return [verdict for verdict in self.wrong if shared in _ids(verdict)]

    @property
    def example(self) -> Verdict | None:
        """The wrong case that tells most: that cause, the fewest others, many tokens."""
        return min(self.agreeing() or self.wrong, default=None,
                   key=lambda verdict: (not verdict.data, not verdict.has_numbers, len(verdict.causes),
                                        -verdict.case.problem.seqlen))

    def __bool__(self) -> bool:
        return self.right

    def __repr__(self) -> str:
        cause = _named_causes([self.cause] if self.cause else [])
        return f"<Verification: {self.name}, {len(self.wrong)} of {len(self.verdicts)} cases wrong{cause}>"

    def __str__(self) -> str:
        if not self.verdicts:
            return f"{self.name}: no case fits what it takes; nothing was judged"
        if self.right:
            return f"{self.name}: right in all {len(self.verdicts)} cases ({self._judged()})"
        lines = [f"{self.name}: wrong in {len(self.wrong)} of {len(self.verdicts)} cases"]
        if self.cause is not None:
            lines[0] += f"; {len(self.agreeing())} of these have the cause below"
        elif any(verdict.causes for verdict in self.wrong):
            lines[0] += "; no cause explains half of them"
            if self.example is not None and self.example.causes:
                lines[0] += ", and those below may fit this case by chance"
        if self.example is not None:
            lines += ["", self.example.text.rstrip()]
        if self.smallest is not None:
            lines += ["", "A small wrong case:", f"    case = {code_of(self.smallest.case)}"]
        return "\n".join(lines)

    def _judged(self) -> str:
        """The tensors that were judged; in how many cases, if not in all; and as what, if not in the type of the inputs."""
        counts = Counter(name for verdict in self.verdicts for name in verdict.data["judged"])
        names = [name + ("" if count == len(self.verdicts) else f" in {count}") for name, count in counts.items()]
        types = sorted({verdict.narrowed for verdict in self.verdicts} - {""})
        return ", ".join(names) + (f"; returned as {' and '.join(types)}, which may be that far off" if types else "")

    def require(self) -> None:
        """Raises AssertionError with the text, unless all is right."""
        if not self.right:
            raise AssertionError(str(self))


def kind_of(case: _core.Case) -> Kind:
    """What code may branch on: limits on both sides, packed sequences, grouped heads."""
    problem = case.problem
    return (problem.mask.left is not None, problem.mask.right is not None, bool(problem.mask.cu_seqlens),
            problem.heads != problem.kv_heads)


def _named_causes(causes: Sequence[Cause]) -> str:
    return f"; {causes[0].sentence}" if causes else ""


def _ids(verdict: Verdict) -> set[str]:
    return {cause.id for cause in verdict.causes}


class Caller:
    """Calls a function for a case and returns its tensors, whole, [batch, heads, seqlen, width]."""

    def __init__(self, function: Callable[..., Any], can: Abilities, *, arrays: str, dtype: str, axes: str,
                 backward: Callable[..., Any] | None, gradients: bool, shards: bool) -> None:
        self.function, self.can, self.arrays, self.dtype, self.axes = function, can, arrays, dtype, axes
        self.backward, self.gradients, self.shards = backward, gradients, shards

    def inputs(self, case: _core.Case) -> dict[str, Array]:
        """q, k, v, dout as the function gets them."""
        given = case.inputs(self.dtype == "float64")
        return {name: self._given(array) for name, array in given.items()}

    def _given(self, array: np.ndarray) -> Array:
        array = np.ascontiguousarray(transposed(array, "bhsd", self.axes + "".join(a for a in "bh" if a not in self.axes)))
        array = array.reshape(array.shape[:len(self.axes)])
        if self.arrays == "torch":
            import torch
            return torch.from_numpy(array.copy()).to(getattr(torch, self.dtype))
        if self.arrays == "jax":
            import jax.numpy
            return jax.numpy.asarray(array, dtype=self.dtype)
        if self.dtype not in ("float32", "float64", "float16"):
            raise _core.Error(f"dtype: expected float64, float32 or float16 with NumPy, got {self.dtype!r}; "
                              'say arrays="torch" or arrays="jax"')
        return array.astype(self.dtype)

    def call(self, case: _core.Case, given: Mapping[str, Array]) -> dict[str, Any]:
        """The tensors that the function returns: whole ones, or a list with one for each rank."""
        settings = settings_for(case.problem, self.can)
        q, k, v, dout = (given[name] for name in ("q", "k", "v", "dout"))
        if self.arrays == "torch" and self.gradients and self.backward is None:
            return self._with_torch(q, k, v, dout, settings, case)
        if self.arrays == "jax" and self.gradients and self.backward is None:
            return self._with_jax(q, k, v, dout, settings, case)
        tensors = self._forward(q, k, v, settings)
        if self.backward is not None:
            returned = self.backward(q, k, v, dout, **{name: value for name, value in settings.items()
                                                       if name in settings_of(self.backward)})
            tensors.update(_gradients(returned))
        return tensors

    def _forward(self, q: Array, k: Array, v: Array, settings: dict[str, Any]) -> dict[str, Any]:
        returned = self.function(q, k, v, **settings)
        if not self.shards:
            return _named(returned)
        if not isinstance(returned, Sequence) or len(returned) != self.can.ranks:
            raise _core.Error(f"result: expected a list with {self.can.ranks} results, one for each rank, "
                              f"got {type(returned).__name__}; return [rank 0's, rank 1's, ...], or leave out results=")
        return by_name([_named(result) for result in returned])

    def _upstream(self, dout: Array, case: _core.Case) -> list[Array]:
        """dout as the results are dealt: the rows of every rank, or all of them."""
        if not self.shards:
            return [dout]
        before = (slice(None),) * self.axes.index("s")
        return [dout[(*before, np.array(case.problem.positions(rank), dtype=np.int64))]
                for rank in range(case.problem.ranks)]

    def _with_torch(self, q: Array, k: Array, v: Array, dout: Array, settings: dict[str, Any],
                    case: _core.Case) -> dict[str, Any]:
        import torch

        q, k, v = (x.clone().requires_grad_() for x in (q, k, v))
        tensors = self._forward(q, k, v, settings)
        outs = tensors.get("out", []) if self.shards else [tensors.get("out")]
        pairs = [(out, d) for out, d in zip(outs, self._upstream(dout, case), strict=False)
                 if torch.is_tensor(out) and out.requires_grad]
        if not pairs:
            return tensors
        grads = torch.autograd.grad([out for out, _ in pairs], (q, k, v), materialize_grads=True,
                                    grad_outputs=[d.to(out.dtype).reshape(out.shape) for out, d in pairs])
        return {**tensors, **dict(zip(GRADIENTS, grads, strict=True))}

    def _with_jax(self, q: Array, k: Array, v: Array, dout: Array, settings: dict[str, Any],
                  case: _core.Case) -> dict[str, Any]:
        import jax

        def outs(q: Array, k: Array, v: Array) -> tuple[list[Array], dict[str, Any]]:
            tensors = self._forward(q, k, v, settings)
            return tensors.get("out", []) if self.shards else [tensors[name] for name in tensors if name == "out"], tensors

        out, pull, tensors = jax.vjp(outs, q, k, v, has_aux=True)
        upstream = [d.astype(part.dtype).reshape(part.shape)
                    for part, d in zip(out, self._upstream(dout, case), strict=False)]
        return {**tensors, **(dict(zip(GRADIENTS, pull(upstream), strict=True)) if out else {})}

    def once(self, judgement: Callable[[], tuple[bool, str, str]]) -> tuple[bool, str, str]:
        """The judgement, made once for all ranks of a job."""
        return judgement()

    def claim(self, case: _core.Case, tensors: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], str]:
        """The tensors as the judge takes them, and the type that they were computed in."""
        types: set[str] = set()
        claim = {}
        for name, tensor in tensors.items():
            if tensor is None:
                continue
            axes = self.axes.replace("d", "") if name == "lse" else self.axes
            order = "bhs" if name == "lse" else "bhsd"
            parts = []
            for part in tensor if isinstance(tensor, list) else [tensor]:
                array, kind = numbers(part)
                if name != "lse" or len(tensors) == 1:
                    types.add(kind)
                parts.append(transposed(array, axes, order))
            if isinstance(tensor, list):
                dealt = [case.problem.positions(rank) for rank in range(case.problem.ranks)]
                if len({part.shape[:2] + part.shape[3:] for part in parts}) > 1:
                    raise _core.Error(f"{name}: expected the same shape on all ranks, but for the rows, got "
                                      f"{', '.join(str(list(part.shape)) for part in parts)}; return every head and column")
                if [part.shape[2] for part in parts] != [len(rows) for rows in dealt]:
                    raise _core.Error(
                        f"{name}: expected {[len(rows) for rows in dealt]} rows on the ranks ({case.problem.layout}), "
                        f"got {[part.shape[2] for part in parts]}; layout= says which rank has which rows")
                whole = np.empty((*parts[0].shape[:2], case.problem.seqlen, *parts[0].shape[3:]), parts[0].dtype)
                for rows, part in zip(dealt, parts, strict=True):
                    whole[:, :, rows] = part
                claim[name] = whole
            else:
                claim[name] = parts[0]
        narrow = [kind for kind in TYPES if kind in types]
        kinds = {array.dtype for array in claim.values()}
        if len(kinds) > 1:
            claim = {name: array.astype(np.float64) for name, array in claim.items()}
        return claim, narrow[0] if narrow else "float64"


def _named(returned: Any) -> dict[str, Any]:
    if isinstance(returned, tuple):
        returned = dict(zip(("out", "lse"), returned, strict=False))
    tensors = returned if isinstance(returned, Mapping) else {"out": returned}
    for name, tensor in tensors.items():
        if isinstance(tensor, list):
            raise _core.Error(f"result: expected out, (out, lse) or a dict of tensors, got a list as {name}; "
                              'return a tensor, or say results="shards" if these are those of ranks')
    return {name: tensor for name, tensor in tensors.items() if tensor is not None}


def _gradients(returned: Any) -> Mapping[str, Any]:
    """What a backward function returned, by name."""
    if isinstance(returned, Mapping):
        return returned
    if not isinstance(returned, (tuple, list)) or len(returned) != len(GRADIENTS):
        got = f"{len(returned)} results" if isinstance(returned, (tuple, list)) else type(returned).__name__
        raise _core.Error(f"backward: expected {', '.join(GRADIENTS)}, or a dict of them, got {got}; return all three")
    return dict(zip(GRADIENTS, returned, strict=True))


def by_name(each: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The results of all ranks, a list for each tensor."""
    if any(result.keys() != each[0].keys() for result in each):
        raise _core.Error("result: expected the same tensors from every rank, got "
                          f"{'; '.join(', '.join(result) for result in each)}; return all of them, or None, on all ranks")
    return {name: [result[name] for result in each] for name in each[0]}


class Judge:
    """Asks a function cases and judges its answers."""

    def __init__(self, caller: Caller, tf32: bool) -> None:
        self.caller, self.tf32 = caller, tf32
        # What right cases tell of wrong ones of their kind: which mistakes it is not, and, since it is none that shows in
        # them, which it may be where a wrong one has no number at all.
        self.refuted: set[tuple[str, Kind]] = set()
        self.right: set[Kind] = set()

    def __call__(self, case: _core.Case) -> Verdict:
        given = self.caller.inputs(case)
        try:
            with kept_running():
                tensors = self.caller.call(case, given)
        except _core.Error:
            raise
        except (Exception, SystemExit):  # a program that it ends would look like one in which all went well
            return Verdict(case, False, f"{case.name}: it raised an exception\n{traceback.format_exc(limit=-3)}")
        claim, dtype = self.caller.claim(case, tensors)
        asked = {name: np.ascontiguousarray(transposed(numbers(array)[0], self.caller.axes, "bhsd"))
                 for name, array in self.caller.inputs(case).items()}  # made anew: a function may write into what it got
        if len({array.dtype for array in (*asked.values(), *claim.values())}) > 1 and dtype == "float64":
            asked = {name: array.astype(np.float64) for name, array in asked.items()}
        dout = asked["dout"] if any(name in claim for name in GRADIENTS) else None
        right, text, data = self.caller.once(lambda: _core.judge(
            case.problem, asked["q"], asked["k"], asked["v"], dout, claim,
            known_ranks=self.caller.can.ranks is not None, dtype=dtype, tf32=self.tf32,
            sequence_order=not self.caller.shards, title=case.name,
            refuted=[cause for cause, kind in self.refuted if kind == kind_of(case)],
            no_numbers_tell=kind_of(case) in self.right))
        narrowed = dtype if TYPES.index(dtype) < TYPES.index(self.caller.dtype) else ""
        return Verdict(case, right, text, json.loads(data), narrowed)

    def compared(self, verdicts: list[Verdict]) -> list[Verdict]:
        """The same, after the right cases have ruled out mistakes of the wrong ones."""
        self.right = {kind_of(verdict.case) for verdict in verdicts if verdict.right}
        verdicts = [self(verdict.case) if self._may_tell_more(verdict) else verdict for verdict in verdicts]
        for kind in self.right:
            alike = [verdict for verdict in verdicts if kind_of(verdict.case) == kind]
            named = {cause.id for verdict in alike for cause in verdict.causes if not cause.general}
            right = [verdict.case for verdict in alike if verdict.right and verdict.case.data == "normal"
                     and verdict.case.problem.seqlen > verdict.case.problem.ranks][:MOST_ASKED]
            if len(right) > 1:
                self.refuted |= {(cause, kind) for cause in self._shown_in_all(right, named)}
        return [self(verdict.case) if any((cause, kind_of(verdict.case)) in self.refuted for cause in _ids(verdict))
                else verdict for verdict in verdicts]

    def _may_tell_more(self, verdict: Verdict) -> bool:
        return not verdict.right and not verdict.has_numbers and kind_of(verdict.case) in self.right

    def _shown_in_all(self, cases: list[_core.Case], causes: set[str]) -> set[str]:
        """Those of these causes that right numbers of every case refute."""
        for case in cases:
            if causes:
                given = case.inputs(self.caller.dtype == "float64")
                causes = set(_core.shown_mistakes(case.problem, given["q"], given["k"], given["v"],
                                                  given["dout"] if self.caller.gradients else None, sorted(causes),
                                                  self.caller.dtype))
        return causes

    def simplest(self, verdict: Verdict, cause: Cause | None) -> Verdict:
        """A wrong case with this cause that is as simple as could be found from this one."""
        def alike(other: Verdict) -> bool:
            return not other.right and bool(other.data) == bool(verdict.data) and (
                cause is None or cause.id in _ids(other))
        for _ in range(20):
            for case in smaller(verdict.case, self.caller.can):
                try:
                    other = self(case)
                except _core.Error:
                    continue
                if alike(other):
                    verdict = other
                    break
            else:
                break
        return verdict


class Options(TypedDict, total=False):
    """The options of verify, which explains them, but for simplify."""
    cases: Sequence[_core.Case] | None
    full: bool
    arrays: str
    dtype: str
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
    results: str
    tf32: bool


def examination(function: Callable[..., Any], *, cases: Sequence[_core.Case] | None = None, full: bool = False,
                arrays: str = "numpy", dtype: str = "float32", axes: str = "bhsd", gradients: bool = True,
                backward: Callable[..., Any] | None = None, causal: bool | None = None, windows: bool | None = None,
                packed: bool | None = None, grouped: bool = True, batched: bool = True, multiple: int = 1,
                head_dims: Sequence[int] | None = None, ranks: int | None = None, layout: str = "contiguous",
                results: str = "whole", tf32: bool = False,
                caller: type[Caller] = Caller) -> tuple[list[_core.Case], Judge]:
    """The cases that verify asks, and what judges each of them. The options are those of verify."""
    require_truths(full=full, gradients=gradients, grouped=grouped, batched=batched, tf32=tf32)
    require_truths(**{name: value for name, value in (("causal", causal), ("windows", windows), ("packed", packed))
                      if value is not None})
    for name, value, choices in (("arrays", arrays, ("numpy", "torch", "jax")), ("results", results, ("whole", "shards")),
                                 ("layout", layout, tuple(_core.layouts())),
                                 ("dtype", dtype, TYPES[::-1])):
        if value not in choices:
            raise _core.Error(f"{name}: expected one of {', '.join(choices)}, got {value!r}; see help(ringcraft.verify)")
    if results == "shards" and ranks is None:
        raise _core.Error('ranks: expected the number of ranks with results="shards", got None; say ranks=')
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
    for name, number in (("ranks", 1 if ranks is None else ranks), ("multiple", multiple),
                         *(("head_dims", width) for width in head_dims or ())):
        if isinstance(number, bool) or not isinstance(number, Integral) or number < 1:
            raise _core.Error(f"{name}: expected at least 1, got {number!r}; see help(ringcraft.verify)")
    settings = settings_of(function)
    told = bool({"mask", "problem"} & settings)
    if causal is None and not (told or {"causal", "window"} & settings):
        causal = False
    can = Abilities(
        settings=settings, causal=causal, windows=told or "window" in settings if windows is None else windows,
        packed=told or "cu_seqlens" in settings if packed is None else packed,
        scales=bool({"softmax_scale", "problem"} & settings), grouped=grouped, batched=batched and "b" in axes,
        headed="h" in axes, multiple=multiple, head_dims=tuple(head_dims) if head_dims else None, ranks=ranks, layout=layout)
    judge_one = Judge(caller(function, can, arrays=arrays, dtype=dtype, axes=axes, backward=backward,
                             gradients=gradients, shards=results == "shards"), tf32)
    for case in cases or ():
        p = case.problem
        if p.ranks != (ranks or p.ranks) or (p.batch > 1 and "b" not in axes) or (p.heads > 1 and "h" not in axes):
            raise _core.Error(f"cases: expected those that axes={axes!r} and ranks={ranks} allow, got {case.name}; "
                              "make others, or leave them out")
    return cases_for(can, full) if cases is None else list(cases), judge_one


def require_known(options: Mapping[str, Any]) -> None:
    """Refuses options that verify does not have."""
    for name in options:
        if name not in Options.__annotations__:
            raise _core.Error(f"verify: expected the options {', '.join(Options.__annotations__)}, got {name}; "
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
    found = Verification(getattr(function, "__name__", type(function).__name__), verdicts)
    if found.example is None or not simplify:
        return found
    return replace(found, smallest=judge_one.simplest(found.example, found.cause))


def verify(function: Callable[..., Any], *, simplify: bool = True, **options: Unpack[Options]) -> Verification:
    """Judges an attention function over a table of cases, and diagnoses what is wrong.

    function(q, k, v, ...) returns out, (out, lse), or a dict with some of out, lse, dq, dk, dv. It gets, of causal,
    window (left, right; -1 is no limit), cu_seqlens, softmax_scale, mask ([seqlen, seqlen] of bool) and problem,
    those that its parameters name, and is asked for no mask that it cannot be told of.

    cases: a list of Case, by default up to 40 of the table, or all with full=True.
    arrays: "numpy", "torch" or "jax". dtype: of the inputs. axes: of q, k, v and of what it returns.
    gradients: with torch and jax by automatic differentiation; otherwise, or if given, backward(q, k, v, dout, ...)
    returns dq, dk, dv.
    causal: what a function without that parameter computes. windows, packed: whether to ask for them.
    grouped: kv_heads may be less than heads. batched: batch may be more than 1. multiple: of seqlen. head_dims: the
    only ones that it takes. tf32: float32 products are rounded to TF32.
    ranks, layout: of a function that computes on ranks, so that mistakes are told rank by rank. It gets the whole
    sequence. results: "whole", in the order of the sequence; or "shards", a list with the results of each rank, in
    the order of its own rows.
    simplify: looks for a small wrong case with the same cause.
    """
    require_known(options)
    require_truths(simplify=simplify)
    return examined(function, *examination(function, **options), simplify)


def _shown() -> inspect.Signature:
    """The signature of verify, with its options one by one, for help() and editors that look at objects."""
    function, *options = inspect.signature(examination).parameters.values()
    simplify = inspect.signature(verify).parameters["simplify"]
    return inspect.Signature([function, simplify, *(option for option in options if option.name in Options.__annotations__)],
                             return_annotation="Verification")


setattr(verify, "__signature__", _shown())
