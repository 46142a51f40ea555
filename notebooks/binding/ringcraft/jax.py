"""ringcraft for JAX: attention with gradients, on the CPU."""
from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ringcraft import _core
from ringcraft._arrays import mask_of, shape_of
from ringcraft._attention import Window


@functools.partial(jax.custom_vjp, nondiff_argnums=(3, 4))
def _attention(q: jax.Array, k: jax.Array, v: jax.Array, problem: _core.Problem, axes: str) -> Any:
    return _forward(q, k, v, problem, axes)[0]


def _forward(q: jax.Array, k: jax.Array, v: jax.Array, problem: _core.Problem, axes: str) -> Any:
    rows = tuple(extent for extent, axis in zip(q.shape, axes, strict=True) if axis != "d")
    results = jax.pure_callback(
        lambda *arrays: _core.forward(problem, *(np.asarray(x) for x in arrays), axes),
        (jax.ShapeDtypeStruct(q.shape, q.dtype), jax.ShapeDtypeStruct(rows, q.dtype)), q, k, v)
    return results, (q, k, v, *results)


def _backward(problem: _core.Problem, axes: str, saved: Any, cotangents: Any) -> Any:
    q, k, v, _, _ = saved
    return jax.pure_callback(
        lambda *arrays: _core.backward(problem, *(np.asarray(x) for x in arrays), axes),
        tuple(jax.ShapeDtypeStruct(x.shape, x.dtype) for x in (q, k, v)), *saved, cotangents[0])


_attention.defvjp(_forward, _backward)


def attention(q: jax.Array, k: jax.Array, v: jax.Array, *, causal: bool = False, window: Window = None,
              cu_seqlens: Sequence[int] | None = None, softmax_scale: float | None = None, axes: str = "bhsd",
              return_lse: bool = False) -> Any:
    """ringcraft.attention with gradients for q, k and v, under jit too. lse has none. Half types: in float32."""
    problem = _core.Problem(**shape_of(q, k, axes), mask=mask_of(causal, window, cu_seqlens), softmax_scale=softmax_scale)
    wide = [x if x.dtype in (jnp.float32, jnp.float64) else x.astype(jnp.float32) for x in (q, k, v)]
    out, lse = _attention(*wide, problem, axes)
    out = out.astype(q.dtype)
    return (out, jax.lax.stop_gradient(lse)) if return_lse else out
