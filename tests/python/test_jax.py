"""JAX: gradients, jit, types."""
import numpy
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
        out = ringcraft.jax.attention(q, k, v, softmax_scale=problem.softmax_scale)
        return ringcraft.scatter(out, problem.ranks, problem.layout)

    found = ringcraft.verify(shards, arrays="jax", ranks=3, layout="zigzag", results="shards", causal=False, windows=False,
                             packed=False)
    assert found and found.verdicts[0].data["judged"] == ["out", "dq", "dk", "dv"], str(found)

    def narrow(q, k, v):
        return ringcraft.jax.attention(q, k, v).astype("bfloat16")

    found = ringcraft.verify(narrow, arrays="jax")
    assert found and "returned as bfloat16" in str(found)


def inputs():
    return jax.random.normal(jax.random.key(0), (3, 1, 2, 9, 4), dtype="float32")


@pytest.mark.parametrize(("call", "said"), [
    (lambda q, k, v: ringcraft.jax.attention(q, k, v[..., :2]), r"v: expected \[1, 2, 9, 4\], got \[1, 2, 9, 2\]"),
    (lambda q, k, v: ringcraft.jax.attention(q, k[:, :, :5], v), r"k: expected \[1, 2, 9, 4\], got \[1, 2, 5, 4\]"),
    (lambda q, k, v: ringcraft.jax.attention(q.astype(int), k, v), "q: expected float64, .* got int64"),
    (lambda q, k, v: ringcraft.jax.attention(q, k.astype("bfloat16"), v), "k: expected float32, as q, got bfloat16"),
    (lambda q, k, v: ringcraft.jax.attention(q.tolist(), k, v), "q: expected an array of JAX, got list"),
    (lambda q, k, v: ringcraft.jax.attention(q, k, v, window={}), "window: expected"),
    (lambda q, k, v: ringcraft.jax.attention(q, k, v, cu_seqlens=5), "cu_seqlens: expected"),
    (lambda q, k, v: ringcraft.jax.attention(q, k, v, softmax_scale=[1]), "softmax_scale: expected"),
    (lambda q, k, v: ringcraft.jax.attention(q, k, v, axes=["b"]), "axes: expected"),
])
@pytest.mark.parametrize("jit", [False, True])
def test_wrong_arrays_are_refused_before_jax_calls_back(call, said, jit):
    if jit and "list" in said:
        return  # jit makes arrays of its arguments
    with pytest.raises(ringcraft.Error, match=said):
        (jax.jit(call) if jit else call)(*inputs())


def test_options_may_be_arrays():
    q, k, v = inputs()
    for array in (jax.numpy.array, numpy.array):
        got = ringcraft.jax.attention(q, k, v, window=array([3, 0]), cu_seqlens=array([0, 4, 9]))
        assert (got == ringcraft.jax.attention(q, k, v, window=(3, 0), cu_seqlens=[0, 4, 9])).all()


def test_vmap_and_its_gradients():
    x = jax.random.normal(jax.random.key(1), (5, 3, 1, 2, 9, 4))

    def loss(q, k, v):
        return (ringcraft.jax.attention(q, k, v, causal=True) ** 2).sum()

    mapped = jax.vmap(jax.grad(loss, argnums=(0, 1, 2)))(x[:, 0], x[:, 1], x[:, 2])
    for i in range(5):
        for got, want in zip(mapped, jax.grad(loss, argnums=(0, 1, 2))(*x[i])):
            assert jax.numpy.allclose(got[i], want)
