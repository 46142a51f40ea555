"""Calls of a function that is judged, and the tensors that it returns."""
from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ringcraft import _core
from ringcraft._arrays import Array, like, numbers, transposed
from ringcraft._cases import Abilities, settings_for, settings_of
from ringcraft._verdicts import Noticed

GRADIENTS = ("dq", "dk", "dv")
TYPES = ("bfloat16", "float16", "float32", "float64")  #: the narrowest first
HALF_TYPES = TYPES[:2]
AXES = {"b": "batch", "h": "heads", "s": "seqlen", "d": "head_dim"}


@dataclass(frozen=True)
class Answer:
    """What a function returned for a case, as the judge takes it."""
    claim: dict[str, np.ndarray]  #: [batch, heads, seqlen, width]
    dtype: str                    #: that it was computed in: at most that of the inputs
    lse_dtype: str | None = None  #: of lse, if that was written in a half type

    def copy(self) -> Answer:
        """One in memory of its own: a function may return the same arrays at every call."""
        return Answer({name: array.copy() for name, array in self.claim.items()}, self.dtype, self.lse_dtype)


class Raised(Exception):
    """The function raised an exception, or ended the program: its text is the traceback."""


class Misfit(_core.Error):
    """What the function returned cannot be judged in this case: its text says why."""


@contextmanager
def theirs(ours: type[Exception] = Raised) -> Iterator[None]:
    """Raises what code of somebody else raises as Raised, but for these."""
    try:
        yield
    except (Raised, ours):
        raise
    except (Exception, GeneratorExit, SystemExit) as error:  # a program that it ends would look like one in which all went well
        raise Raised(traceback.format_exc(limit=-3)) from error


class Caller:
    """Calls a function for a case and returns its tensors, whole, [batch, heads, seqlen, width]."""
    shared = False  #: ranks of a job call it together: it is asked nothing else, since an unforeseen message ends the job

    def __init__(self, function: Callable[..., Any], can: Abilities, *, arrays: str, dtype: str, axes: str,
                 backward: Callable[..., Any] | None, gradients: bool, shards: bool) -> None:
        self.function, self.can, self.arrays, self.dtype, self.axes = function, can, arrays, dtype, axes
        self.backward, self.gradients, self.shards = backward, gradients, shards
        self.noticed = Noticed(supposed=can.supposed())

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
        if "mask" in settings and self.arrays != "numpy":
            settings["mask"] = like(settings["mask"], given["q"])
        q, k, v, dout = (given[name] for name in ("q", "k", "v", "dout"))
        if self.arrays == "torch" and self.gradients and self.backward is None:
            return self._with_torch(q, k, v, dout, settings, case)
        if self.arrays == "jax" and self.gradients and self.backward is None:
            return self._with_jax(q, k, v, dout, settings, case)
        tensors = self._forward(q, k, v, settings)
        if self.backward is not None:
            told = {name: value for name, value in settings.items() if name in settings_of(self.backward)}
            with theirs(), self._watched(given):
                returned = self.backward(q, k, v, dout, **told)
            tensors.update(by_name([_gradients(part) for part in self._of_ranks(returned, "backward")]) if self.shards
                           else _gradients(returned))
        return tensors

    def _forward(self, q: Array, k: Array, v: Array, settings: dict[str, Any]) -> dict[str, Any]:
        with theirs(), self._watched({"q": q, "k": k, "v": v}):
            returned = self.function(q, k, v, **settings)
        if not self.shards:
            return _named(returned)
        return by_name([_named(result) for result in self._of_ranks(returned, "result")])

    def _of_ranks(self, returned: Any, what: str) -> Sequence[Any]:
        """The results of the ranks."""
        if not isinstance(returned, Sequence) or len(returned) != self.can.ranks:
            raise _core.Error(f"{what}: expected a list with {self.can.ranks} results, one for each rank, "
                              f"got {f'{len(returned)} of them' if isinstance(returned, Sequence) else type(returned).__name__}; "
                              "return [rank 0's, rank 1's, ...], or leave out results=")
        return returned

    @contextmanager
    def _watched(self, given: Mapping[str, Array]) -> Iterator[None]:
        """Notes which of these have changed afterwards."""
        if self.arrays == "jax":  # nobody can write into its arrays
            yield
            return
        before = {name: numbers(array)[0].copy() for name, array in given.items()}
        yield
        self.noticed.overwritten |= {name for name, array in given.items()
                                     if not np.array_equal(before[name], numbers(array)[0], equal_nan=True)}

    def _upstream(self, dout: Array, case: _core.Case) -> list[Array]:
        """dout as the results are dealt: the rows of every rank, or all of them."""
        if not self.shards:
            return [dout]
        before = (slice(None),) * self.axes.index("s")
        return [dout[(*before, case.problem.positions(rank))] for rank in range(case.problem.ranks)]

    def _with_torch(self, q: Array, k: Array, v: Array, dout: Array, settings: dict[str, Any],
                    case: _core.Case) -> dict[str, Any]:
        import torch

        q, k, v = (x.clone().requires_grad_() for x in (q, k, v))
        tensors = self._forward(q, k, v, settings)
        outs = tensors.get("out", []) if self.shards else [tensors.get("out")]
        pairs = [(out, d) for out, d in zip(outs, self._upstream(dout, case), strict=False)
                 if torch.is_tensor(out) and out.requires_grad]
        if not pairs:
            self.noticed.detached |= any(map(torch.is_tensor, outs)) and not tensors.keys() & set(GRADIENTS)
            return tensors
        with theirs():
            grads = torch.autograd.grad([out for out, _ in pairs], (q, k, v), materialize_grads=True,
                                        grad_outputs=[d.to(out.dtype).reshape(out.shape) for out, d in pairs])
        return {**dict(zip(GRADIENTS, grads, strict=True)), **tensors}

    def _with_jax(self, q: Array, k: Array, v: Array, dout: Array, settings: dict[str, Any],
                  case: _core.Case) -> dict[str, Any]:
        import jax

        def outs(q: Array, k: Array, v: Array) -> tuple[list[Array], dict[str, Any]]:
            tensors = self._forward(q, k, v, settings)
            return tensors.get("out", []) if self.shards else [tensors[name] for name in tensors if name == "out"], tensors

        with theirs(_core.Error):  # of the results
            out, pull, tensors = jax.vjp(outs, q, k, v, has_aux=True)
        with theirs():
            grads = pull([d.astype(part.dtype).reshape(part.shape)
                          for part, d in zip(out, self._upstream(dout, case), strict=False)])
        return {**(dict(zip(GRADIENTS, grads, strict=True)) if out else {}), **tensors}

    def once(self, judgement: Callable[[], tuple[bool, str, str]]) -> tuple[bool, str, str]:
        """The judgement, made once for all ranks of a job."""
        return judgement()

    def claim(self, case: _core.Case, tensors: Mapping[str, Any]) -> Answer:
        """The tensors as the judge takes them."""
        types, lse, p = {self.dtype}, None, case.problem
        claim = {}
        for name, tensor in tensors.items():
            if tensor is None:
                continue
            axes = self.axes.replace("d", "") if name == "lse" else self.axes
            order = "bhs" if name == "lse" else "bhsd"
            parts = []
            for part in tensor if isinstance(tensor, list) else [tensor]:
                with theirs(_core.Error):  # an array of their own may raise what it likes
                    array, kind = numbers(part)
                if name == "lse" and kind in HALF_TYPES:
                    lse = kind
                if name == "lse" and array.ndim != len(axes):
                    raise _core.Error(f"lse: expected {len(axes)} dimensions ({axes}), got the shape {list(array.shape)}; "
                                      "if the second result is another one, such as the weights, return out alone")
                if name != "lse" or len(tensors) == 1:
                    types.add(kind)
                parts.append(transposed(array, axes, order))
            if isinstance(tensor, list):
                dealt = [p.positions(rank) for rank in range(p.ranks)]
                if len({part.shape[:2] + part.shape[3:] for part in parts}) > 1:
                    raise Misfit(f"{name}: expected the same shape on all ranks, but for the rows, got "
                                 f"{', '.join(str(list(part.shape)) for part in parts)}; return every head and column")
                if [part.shape[2] for part in parts] != [len(rows) for rows in dealt]:
                    raise Misfit(
                        f"{name}: expected {[len(rows) for rows in dealt]} rows on the ranks ({p.layout}), "
                        f"got {[part.shape[2] for part in parts]}; layout= says which rank has which rows")
                whole = np.empty((*parts[0].shape[:2], p.seqlen, *parts[0].shape[3:]), parts[0].dtype)
                for rows, part in zip(dealt, parts, strict=True):
                    whole[:, :, rows] = part
                claim[name] = whole
            else:
                claim[name] = parts[0]
            shape = dict(zip(order, (p.batch, p.kv_heads if name in ("dk", "dv") else p.heads, p.seqlen, p.head_dim), strict=False))
            got = dict(zip(order, claim[name].shape, strict=True))
            if got != shape:
                raise Misfit(f"{name}: expected [{', '.join(AXES[axis] for axis in axes)}] {[shape[axis] for axis in axes]}, "
                             f"got {[got[axis] for axis in axes]}; axes= and layout= say how axes and rows are ordered")
        narrow = [kind for kind in TYPES if kind in types]
        kinds = {array.dtype for array in claim.values()}
        if len(kinds) > 1:
            claim = {name: array.astype(np.float64) for name, array in claim.items()}
        return Answer(claim, narrow[0], lse)


def _named(returned: Any) -> dict[str, Any]:
    if returned is None:
        raise _core.Error("result: expected out, (out, lse) or a dict of tensors, got None; does the function end with return?")
    if inspect.iscoroutine(returned) or inspect.isgenerator(returned):
        with suppress(RuntimeError):  # a generator that goes on when it is closed
            returned.close()
        kind, do = ("coroutine", "run it to its end with asyncio.run") if inspect.iscoroutine(returned) else (
            "generator", "return what it yields last")
        raise _core.Error(f"result: expected out, (out, lse) or a dict of tensors, got a {kind}; {do}")
    if isinstance(returned, tuple):
        if len(returned) > 2:
            raise _core.Error(f"result: expected out, (out, lse) or a dict of tensors, got a tuple of {len(returned)}; return "
                              'the first two, or name them: {"out": out, "dq": dq, ...}')
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
        if other := [name for name in returned if name not in GRADIENTS]:
            raise _core.Error(f"backward: expected {', '.join(GRADIENTS)}, got {', '.join(map(str, other))}; the function "
                              "itself returns out and lse")
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
