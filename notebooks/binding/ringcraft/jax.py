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


@functools.partial(jax.custom_vjp, nondiff_argnums=(3, 4))
def _attention(q: jax.Array, k: jax.Array, v: jax.Array, problem: _core.Problem, axes: str) -> Any:
    return _forward(q, k, v, problem, axes)[0]


def _alike(x: jax.Array, axes: str | None = None) -> Any:
    """What a call will return: an array like x, or with these of its axes."""
    shape = x.shape if axes is None else tuple(n for n, axis in zip(x.shape, axes, strict=True) if axis != "d")
    return jax.ShapeDtypeStruct(shape, x.dtype)  # type: ignore[no-untyped-call]


def _forward(q: jax.Array, k: jax.Array, v: jax.Array, problem: _core.Problem, axes: str) -> Any:
    results = jax.pure_callback(
        lambda q, k, v: _core.forward(problem, np.asarray(q), np.asarray(k), np.asarray(v), axes),
        (_alike(q), _alike(q, axes)), q, k, v)
    return results, (q, k, v, *results)


def _backward(problem: _core.Problem, axes: str, saved: Any, cotangents: Any) -> Any:
    q, k, v, _, _ = saved

    def gradients(q: Any, k: Any, v: Any, out: Any, lse: Any, dout: Any) -> Any:
        q, k, v, out, lse, dout = (np.asarray(x) for x in (q, k, v, out, lse, dout))
        return _core.backward(problem, q, k, v, out, lse, dout, axes)

    return jax.pure_callback(gradients, (_alike(q), _alike(k), _alike(v)), *saved, cotangents[0])


_attention.defvjp(_forward, _backward)


def attention(q: jax.Array, k: jax.Array, v: jax.Array, *, causal: bool = False, window: Window = None,
              cu_seqlens: Sequence[int] | None = None, softmax_scale: float | None = None, axes: str = "bhsd",
              return_lse: bool = False) -> Any:
    """ringcraft.attention with gradients for q, k and v, under jit too. lse has none. Half types: in float32."""
    problem = problem_of(q, k, axes, mask_of(causal, window, cu_seqlens), softmax_scale)
    wide = [x if x.dtype in (jnp.float32, jnp.float64) else x.astype(jnp.float32) for x in (q, k, v)]
    out, lse = _attention(*wide, problem, axes)
    out = out.astype(q.dtype)
    return (out, jax.lax.stop_gradient(lse)) if return_lse else out
