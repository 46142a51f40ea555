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


@functools.lru_cache(maxsize=256)
def _attention(q_shape: tuple[int, ...], k_shape: tuple[int, ...], axes: str, causal: bool, window: Window,
               cu_seqlens: tuple[int, ...] | None, softmax_scale: float | None) -> Any:
    """Attention of arrays with these shapes: out and lse. JAX compiles every function once, and so each is made once."""
    q, k = (jax.ShapeDtypeStruct(shape, jnp.float32) for shape in (q_shape, k_shape))  # type: ignore[no-untyped-call]
    problem = problem_of(q, k, axes, mask_of(causal, window, cu_seqlens), softmax_scale)

    def run(q: Any, k: Any, v: Any) -> Any:
        return _core.forward(problem, np.asarray(q), np.asarray(k), np.asarray(v), axes)

    def run_backward(q: Any, k: Any, v: Any, out: Any, lse: Any, dout: Any) -> Any:
        q, k, v, out, lse, dout = (np.asarray(x) for x in (q, k, v, out, lse, dout))
        return _core.backward(problem, q, k, v, out, lse, dout, axes)

    def forward(q: jax.Array, k: jax.Array, v: jax.Array) -> Any:
        results = jax.pure_callback(run, (_alike(q), _alike(q, axes)), q, k, v)
        return results, (q, k, v, *results)

    def backward(saved: Any, cotangents: Any) -> Any:
        return jax.pure_callback(run_backward, tuple(_alike(x) for x in saved[:3]), *saved, cotangents[0])

    attention = jax.custom_vjp(lambda q, k, v: forward(q, k, v)[0])
    attention.defvjp(forward, backward)
    return attention


def attention(q: jax.Array, k: jax.Array, v: jax.Array, *, causal: bool = False, window: Window = None,
              cu_seqlens: Sequence[int] | None = None, softmax_scale: float | None = None, axes: str = "bhsd",
              return_lse: bool = False) -> Any:
    """ringcraft.attention with gradients for q, k and v, under jit too. lse has none. Half types: in float32."""
    for name, array in (("q", q), ("k", k), ("v", v)):
        if not isinstance(array, jax.Array):
            raise _core.Error(f"{name}: expected an array of JAX, got {type(array).__name__}; "
                              "ringcraft.attention takes other arrays")
        if array.dtype != q.dtype:
            raise _core.Error(f"{name}: expected {q.dtype}, as q, got {array.dtype}; give all arrays one type")
    compute = _attention(q.shape, k.shape, axes, causal, tuple(window) if isinstance(window, Sequence) else window,
                         None if cu_seqlens is None else tuple(cu_seqlens), softmax_scale)
    out, lse = compute(*(x if x.dtype in (jnp.float32, jnp.float64) else x.astype(jnp.float32) for x in (q, k, v)))
    out = out.astype(q.dtype)
    return (out, jax.lax.stop_gradient(lse)) if return_lse else out
