"""ringcraft for JAX: attention with gradients, on the CPU."""
from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ringcraft import _core
from ringcraft._arrays import mask_of, problem_of
from ringcraft._attention import Window


def _alike(x: jax.Array, axes: str | None = None) -> Any:
    """What a call will return: an array like x, or with these of its axes."""
    shape = x.shape if axes is None else tuple(n for n, axis in zip(x.shape, axes, strict=True) if axis != "d")
    return jax.ShapeDtypeStruct(shape, x.dtype)  # type: ignore[no-untyped-call]


def _require_arrays(q: jax.Array, k: jax.Array, v: jax.Array) -> None:
    """Refuses what cannot be computed: here, since JAX hides in its own an error of what it calls back."""
    for name, x in (("q", q), ("k", k), ("v", v)):
        if not isinstance(x, jax.Array):
            raise _core.Error(f"{name}: expected an array of JAX, got {type(x).__name__}; ringcraft.attention takes other arrays")
        if str(x.dtype) not in ("float64", "float32", "bfloat16", "float16"):
            raise _core.Error(f"{name}: expected float64, float32, bfloat16 or float16, got {x.dtype}; convert the array first")
        if x.dtype != q.dtype:
            raise _core.Error(f"{name}: expected {q.dtype}, as q, got {x.dtype}; give all arrays one type")


def _require_alike(q: jax.Array, k: jax.Array, v: jax.Array, axes: str) -> None:
    """Refuses keys and values of other batches, lengths and widths than the queries', but for the number of heads."""
    want = [have if axis == "h" else n for n, have, axis in zip(q.shape, k.shape, axes, strict=True)]
    for name, x in (("k", k), ("v", v)):
        if list(x.shape) != want:
            raise _core.Error(f"{name}: expected {want}, got {list(x.shape)}; check the shape")


@functools.lru_cache(maxsize=256)
def _attention(problem: _core.Problem, axes: str) -> Any:
    """Attention of one problem: out and lse. JAX compiles every function once, and so each is made once."""
    def run(q: Any, k: Any, v: Any) -> Any:
        return _core.forward(problem, np.asarray(q), np.asarray(k), np.asarray(v), axes)

    def run_backward(q: Any, k: Any, v: Any, out: Any, lse: Any, dout: Any) -> Any:
        q, k, v, out, lse, dout = (np.asarray(x) for x in (q, k, v, out, lse, dout))
        return _core.backward(problem, q, k, v, out, lse, dout, axes)

    def forward(q: jax.Array, k: jax.Array, v: jax.Array) -> Any:
        results = jax.pure_callback(run, (_alike(q), _alike(q, axes)), q, k, v, vmap_method="sequential")
        return results, (q, k, v, *results)

    def backward(saved: Any, cotangents: Any) -> Any:
        return jax.pure_callback(run_backward, tuple(_alike(x) for x in saved[:3]), *saved, cotangents[0],
                                 vmap_method="sequential")

    attention = jax.custom_vjp(lambda q, k, v: forward(q, k, v)[0])
    attention.defvjp(forward, backward)
    return attention


def attention(q: jax.Array, k: jax.Array, v: jax.Array, *, causal: bool = False, window: Window = None,
              cu_seqlens: Sequence[int] | None = None, softmax_scale: float | None = None, axes: str = "bhsd",
              return_lse: bool = False) -> Any:
    """ringcraft.attention with gradients for q, k and v, under jit too. lse has none. Half types: in float32."""
    _require_arrays(q, k, v)
    problem = problem_of(q, k, axes, mask_of(causal, window, cu_seqlens), softmax_scale)
    _require_alike(q, k, v, axes)
    out, lse = _attention(problem, axes)(*(x if x.dtype in (jnp.float32, jnp.float64) else x.astype(jnp.float32)
                                           for x in (q, k, v)))
    out = out.astype(q.dtype)
    return (out, jax.lax.stop_gradient(lse)) if return_lse else out
