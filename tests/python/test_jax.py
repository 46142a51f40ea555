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


@pytest.mark.parametrize("traced", [jax.jit, jax.grad, jax.vmap])
def test_what_jax_traces_is_refused(traced):
    q = jax.numpy.ones((2, 1, 2, 4, 4))
    with pytest.raises(ringcraft.Error, match="q: expected an array, got one that jax.jit, .* ringcraft.jax.attention"):
        traced(lambda x: ringcraft.attention(x, x, x).sum())(q)


def test_arrays_of_other_kinds_are_refused():
    q = jax.numpy.ones((1, 2, 4, 4))
    with pytest.raises(ringcraft.Error, match="v: expected an array of JAX, got list"):
        ringcraft.jax.attention(q, q, [1])
    with pytest.raises(ringcraft.Error, match="k: expected float64, as q, got float32"):
        ringcraft.jax.attention(q, q.astype("float32"), q)
    half = q.astype("bfloat16")
    assert ringcraft.attention(*(jax.numpy.asarray(half).__array__() for _ in range(3))).dtype == half.dtype


def test_every_call_after_the_first_is_compiled_already():
    import time

    q = jax.random.normal(jax.random.key(0), (1, 2, 9, 4))
    calls = [lambda: ringcraft.jax.attention(q, q, q, causal=True, window=[3, 0], cu_seqlens=[0, 4, 9]),
             lambda: jax.grad(lambda x: ringcraft.jax.attention(x, x, x).sum())(q)]
    for call in calls:
        def seconds(call=call):
            begin = time.perf_counter()
            jax.block_until_ready(call())
            return time.perf_counter() - begin

        first = seconds()
        assert sorted(seconds() for _ in range(20))[10] < first / 3


def test_shards_and_types_of_gradients():
    def shards(q, k, v, problem):
        return ringcraft.scatter(ringcraft.jax.attention(q, k, v), problem.ranks, problem.layout)

    found = ringcraft.verify(shards, arrays="jax", ranks=3, layout="zigzag", results="shards", causal=False, windows=False,
                             packed=False)
    assert found and found.verdicts[0].data["judged"] == ["out", "dq", "dk", "dv"], str(found)

    def narrow(q, k, v):
        return ringcraft.jax.attention(q, k, v).astype("bfloat16")

    found = ringcraft.verify(narrow, arrays="jax")
    assert found and "returned as bfloat16" in str(found)
