"""Arrays of NumPy, PyTorch and JAX: how to hand them to the library, and how to give results back alike."""
from __future__ import annotations

import operator
import sys
from collections.abc import Mapping, Sequence, Set
from numbers import Integral, Real
from typing import Any

import numpy as np

from ringcraft import _core

Array = Any  # np.ndarray, torch.Tensor, jax.Array, or anything else that speaks DLPack


def framework_of(array: Array) -> str:
    """The library that an array belongs to, or its class derives from: "numpy", "torch", "jax" or another module's name."""
    names = [base.__module__.partition(".")[0] for base in type(array).__mro__]
    return next(("jax" if name == "jaxlib" else name for name in names if name in ("torch", "jax", "jaxlib")), names[0])


def namespace_of(array: Array) -> Any:
    """The module with concatenate and the like for this array."""
    framework = framework_of(array)
    if framework == "torch":
        return sys.modules["torch"]
    if framework == "jax":
        import jax.numpy
        return jax.numpy
    return np


def plain(array: Array) -> Array:
    """The array without its history, and with its signs in its numbers: DLPack exports neither from PyTorch."""
    if framework_of(array) == "torch":
        return array.detach().resolve_neg()
    if isinstance(array, np.ndarray) and array.dtype.name == "bfloat16":  # of the package ml_dtypes, unknown to DLPack
        return array.astype(np.float32)
    return array


def like(array: np.ndarray, model: Array) -> Array:
    """A NumPy array as an array of the library that `model` belongs to."""
    framework = framework_of(model)
    if framework == "torch":
        return sys.modules["torch"].from_numpy(array)
    if framework == "jax":
        import jax.numpy
        return jax.numpy.asarray(array)
    return array


def alike(array: np.ndarray, model: Array) -> Array:
    """The same in the type of `model`, where that is of 16 bits: results of such inputs come in float32."""
    result = like(array, model)
    if str(getattr(model, "dtype", "")).removeprefix("torch.") not in ("bfloat16", "float16"):  # a memoryview has none
        return result
    return result.to(model.dtype) if framework_of(model) == "torch" else result.astype(model.dtype)


def require_whole(**numbers: Any) -> None:
    """Refuses what is no whole number; None is left to defaults."""
    for name, number in numbers.items():
        if number is not None and (isinstance(number, bool) or not isinstance(number, Integral)):
            raise _core.Error(f"{name}: expected a whole number, got {number!r}; leave it out for the usual one")
        if number is not None and abs(operator.index(number)) >= 1 << 31:
            raise _core.Error(f"{name}: expected a whole number below 2**31, got {number}; leave it out for the usual one")


def require_truths(**values: Any) -> None:
    """Refuses what is neither True nor False."""
    for name, value in values.items():
        if not isinstance(value, (bool, np.bool_)):
            raise _core.Error(f"{name}: expected True or False, got {value!r}; leave it out for the usual one")


def require_numbers(**numbers: Any) -> None:
    """Refuses what is no number."""
    for name, number in numbers.items():
        if isinstance(number, bool) or not isinstance(number, Real):
            raise _core.Error(f"{name}: expected a number, got {number!r}; leave it out for the usual one")


def require_axes(axes: Any) -> None:
    """Refuses what are no axes of arrays."""
    if not isinstance(axes, str):
        raise _core.Error(f"axes: expected letters of bhsd, got {axes!r}; bhsd is [batch, heads, seqlen, head_dim]")
    _core.require_axes(axes)


def require_arrays(**arrays: Array) -> None:
    """Refuses what has no shape, and masks of NumPy, which attention would not see."""
    for name, array in arrays.items():
        if not hasattr(array, "shape"):
            raise _core.Error(f"{name}: expected an array (NumPy, PyTorch, JAX, or anything else that speaks DLPack), "
                              f"got {type(array).__name__}; make it one, with numpy.asarray(...)")
        if isinstance(array, np.ma.MaskedArray):
            raise _core.Error(f"{name}: expected an array without a mask of its own, got one of numpy.ma; "
                              f"causal, window and cu_seqlens say which keys a query sees, {name}.filled(0) has no mask")


def require_no_history(**arrays: Array) -> None:
    """Refuses tensors to which gradients are to flow back, as results would not lead there, and those that JAX traces."""
    for name, array in arrays.items():
        if framework_of(array) == "jax" and isinstance(array, sys.modules["jax"].core.Tracer):
            raise _core.Error(f"{name}: expected an array, got one that jax.jit, jax.grad or jax.vmap traces; "
                              "ringcraft.jax.attention works under jit and has gradients")
        if framework_of(array) == "torch" and array.requires_grad and sys.modules["torch"].is_grad_enabled():
            raise _core.Error(f"{name}: expected a tensor that requires no gradient, got one that does; "
                              f"ringcraft.torch.attention computes gradients, and {name}.detach() needs none")


def numbers(array: Array) -> tuple[np.ndarray, str]:
    """A NumPy array of float32 or float64 with the same numbers, and the name of the type that they had."""
    require_arrays(result=array)
    if framework_of(array) == "cupy":
        array = array.get()
    array = plain(array)
    name = str(getattr(array, "dtype", type(array).__name__)).removeprefix("torch.")
    if name in ("bfloat16", "float16"):
        framework = framework_of(array)
        array = array.float() if framework == "torch" else array.astype("float32")
    if framework_of(array) == "torch":
        if array.device.type != "cpu":
            array = array.cpu()
        array = array.numpy()
    array = np.asarray(array)
    if array.dtype not in (np.float32, np.float64):
        raise _core.Error(f"result: expected float64, float32, bfloat16 or float16, got {name}; "
                          "return the numbers as the attention computed them")
    return array, name


def transposed(array: np.ndarray, axes: str, to: str) -> np.ndarray:
    """An array with the axes `axes` in the order `to`; axes that it does not have get extent 1."""
    if array.ndim != len(axes):
        raise _core.Error(f"result: expected {len(axes)} dimensions ({axes}), got the shape {list(array.shape)}; "
                          'say axes="bshd", for example, if they come in another order')
    array = array.transpose([axes.index(axis) for axis in to if axis in axes])
    for i, axis in enumerate(to):
        if axis not in axes:
            array = np.expand_dims(array, i)
    return array


def mask_of(causal: bool = False, window: int | Sequence[int | None] | None = None,
            cu_seqlens: Sequence[int] | None = None) -> _core.Mask:
    """A mask in the words of FlashAttention.

    window: (left, right), the keys before and after a query that it sees; None or -1 is no limit; a number W is
    (W, W). causal: right is 0. cu_seqlens: borders of packed sequences, from 0 to seqlen.
    """
    if not isinstance(causal, (bool, np.bool_)):
        raise _core.Error(f"causal: expected True or False, got {causal!r}; window=(left, right) sets other limits")

    def whole(name: str, number: Any) -> int:
        try:
            count = operator.index(number)
        except TypeError:
            raise _core.Error(f"{name}: expected whole numbers, got {number!r}; positions count tokens") from None
        if abs(count) >= 1 << 63:
            raise _core.Error(f"{name}: expected whole numbers below 2**63, got {count}; None is no limit")
        return count

    limits: Any = window
    if window is None or (isinstance(window, (int, np.integer)) and not isinstance(window, bool)):
        limits = (window, window)
    if hasattr(limits, "tolist"):  # an array
        limits = limits.tolist()
    if isinstance(limits, str) or not isinstance(limits, Sequence) or len(limits) != 2:
        raise _core.Error(f"window: expected (left, right), got {window!r}; None is no limit")
    left, right = (None if limit in (None, -1) else whole("window", limit) for limit in limits)
    if cu_seqlens is not None and (isinstance(cu_seqlens, (str, bytes, Set, Mapping)) or not hasattr(cu_seqlens, "__iter__")
                                   or getattr(cu_seqlens, "shape", None) == ()):
        raise _core.Error(f"cu_seqlens: expected the borders of packed sequences, got {cu_seqlens!r}; "
                          "[0, 3, 8] packs a sequence of 3 tokens and one of 5")
    borders = [] if cu_seqlens is None else [whole("cu_seqlens", border) for border in cu_seqlens]
    return _core.Mask(left, 0 if causal else right, borders)


def problem_of(q: Array, k: Array, axes: str, mask: _core.Mask, softmax_scale: float | None, *, ranks: int = 1,
               layout: str = "contiguous", per_sequence: bool = False, seqlen: int | None = None) -> _core.Problem:
    """The problem of q and k, which are arrays, with these axes. seqlen: of the whole sequence, where they are a rank's shards."""
    require_axes(axes)
    if softmax_scale is not None and (isinstance(softmax_scale, bool) or not isinstance(softmax_scale, Real)):
        raise _core.Error(f"softmax_scale: expected a number, got {softmax_scale!r}; None is 1 / sqrt(head_dim)")
    for name, array in (("q", q), ("k", k)):
        if len(array.shape) != len(axes):
            raise _core.Error(f"{name}: expected {len(axes)} dimensions ({axes}), got the shape {list(array.shape)}; "
                              'say axes="bshd", for example, if they come in another order')
    extents = {axis: int(q.shape[i]) for i, axis in enumerate(axes)}
    return _core.Problem(extents["s"] if seqlen is None else seqlen, extents.get("h", 1), extents["d"],
                         kv_heads=int(k.shape[axes.index("h")]) if "h" in axes else 1, batch=extents.get("b", 1),
                         mask=mask, ranks=ranks, layout=layout, per_sequence=per_sequence, softmax_scale=softmax_scale)
