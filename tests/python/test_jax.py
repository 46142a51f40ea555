"""JAX: gradients, jit, types."""
import pytest

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)

import ringcraft  # noqa: E402
import ringcraft.jax  # noqa: E402


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_it_is_right_in_every_type(dtype):
    found = ringcraft.verify(ringcraft.jax.attention, arrays="jax", dtype=dtype)
    assert found, str(found)


def test_gradients_under_jit():
    from jax.test_util import check_grads
    q, k, v = jax.random.normal(jax.random.key(0), (3, 1, 2, 9, 4), dtype="float64")
    check_grads(jax.jit(lambda *x: ringcraft.jax.attention(*x, causal=True)), (q, k, v), order=1, modes=["rev"])


def test_arrays_go_in_and_come_out():
    q, k, v = jax.random.normal(jax.random.key(0), (3, 1, 2, 9, 4))
    assert isinstance(ringcraft.attention(q, k, v), jax.Array)
    assert jax.numpy.array_equal(ringcraft.gather(ringcraft.scatter(q, 3)), q)
