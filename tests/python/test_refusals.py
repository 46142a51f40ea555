"""Sentences for strangers: what cannot be computed is refused, by its name, and with what to try."""
import ctypes

import numpy as np
import pytest
import ringcraft
from ringcraft import _core

Q = np.random.default_rng(1).standard_normal((1, 4, 12, 8))
SET, MAPPING = {3, 0}, {0: 3, 1: 0}  # neither is a pair: one has no order, the other keys


def attention(q=Q, k=Q, v=Q, **options):
    return lambda: ringcraft.attention(q, k, v, **options)


@pytest.mark.parametrize(("call", "said"), [
    (attention(Q.astype(object)), "q: expected plain numbers .* got ndarray of object; convert"),
    (attention(Q.astype(">f8")), "q: expected plain numbers .* got ndarray of >f8"),
    (attention(v=Q.tolist()), r"v: expected an array .* got list; make it one, with numpy.asarray\(...\)"),
    (attention(axes=""), "axes: expected letters of bhsd, .* got none"),
    (attention(axes="bhss"), "axes: expected letters of bhsd, .* got bhss"),
    (attention(window=SET), "window: expected .left, right."), (attention(window=MAPPING), "window: expected .left, right."),
    (attention(cu_seqlens={0, 5, 12}), "cu_seqlens: expected the borders"),
    (attention(threads=10 ** 9), "threads: expected at most 4096, got 1000000000"),
    (attention(threads=10 ** 19), r"threads: expected a whole number below 2\*\*31, got 10000000000000000000"),
    (lambda: ringcraft.attend(Q, Q, Q, ranks=10 ** 10), r"ranks: expected a whole number below 2\*\*31"),
    (lambda: ringcraft.scatter(Q, 2 ** 31 - 1), "ranks: expected at most 65536, got 2147483647"),
    (attention(cu_seqlens=np.array(1)), "cu_seqlens: expected the borders"),
    (lambda: ringcraft.simulate(ranks=1, tokens=64, trace=2), "trace: expected True or False, got 2"),
    (lambda: ringcraft.simulate(ranks=1, tokens=64, method=Q), "method: expected a name, got ndarray"),
    (lambda: ringcraft.verify(lambda q, k, v: q, results=Q), "results: expected one of whole, shards"),
    (lambda: ringcraft.scatter([1, 2], 2), "x: expected an array .* got list"),
    (lambda: ringcraft.scatter(Q, 2, axis=4), "axis: expected that of the tokens .* got 4"),
    (lambda: ringcraft.scatter(Q, 2, axis=1.0), "axis: expected that of the tokens .* got 1.0"),
    (lambda: ringcraft.gather("ab"), "shards: expected an array .* got str"),
    (lambda: ringcraft.gather([Q, Q[:, :2]]), r"shards: expected the same shape, .* got \[1, 4, 12, 8\], \[1, 2, 12, 8\]"),
    (lambda: ringcraft.gather([Q, Q[0]]), "shards: expected the same shape"),
])
def test_what_cannot_be_computed_is_refused(call, said):
    with pytest.raises(ringcraft.Error, match=said):
        call()


@pytest.mark.parametrize("call", [
    lambda: ringcraft.Problem(4, 1, 1, ranks=0), lambda: ringcraft.positions(4, 0),
    lambda: ringcraft.Problem(4, 1, 1, per_sequence=True), lambda: ringcraft.Problem(4, 3, 1, kv_heads=2),
    attention(threads=0), attention(cu_seqlens=[0, 5]), attention(window=(-3, 0)), attention(softmax_scale=float("inf")),
    lambda: ringcraft.attend(Q, Q, Q, ranks=5, method="ulysses"), lambda: ringcraft.attend(Q, Q, Q, ranks=5000),
    lambda: ringcraft.attend(Q, Q, Q, ranks=4, method="hybrid", ulysses=3),
    lambda: ringcraft.attend(Q, Q, Q, ranks=4, method="double-ring", node=3),
    lambda: ringcraft.attend(Q, Q, Q, ranks=4, method="linear"),
    lambda: ringcraft.simulate(ranks=8, tokens=4096, slow_ranks=[(99, 2.0)]),
    lambda: ringcraft.simulate(ranks=8, tokens=4096, slow_links=[(1, 1, 2.0)]),
    lambda: ringcraft.simulate(ranks=8, tokens=4096, machine="8xM5"),
])
def test_options_are_named_as_in_python(call):
    with pytest.raises(ringcraft.Error) as refused:
        call()
    assert "--" not in str(refused.value), refused.value


def test_an_array_on_a_gpu_is_refused_with_what_to_try():
    class OnDevice:  # the memory is that of the CPU, and says that it is a GPU's
        dtype, shape = Q.dtype, Q.shape

        def __dlpack__(self, **_options):
            capsule = Q.__dlpack__()
            address = ctypes.pythonapi.PyCapsule_GetPointer
            address.restype, address.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
            device = ctypes.c_int32.from_address(address(capsule, b"dltensor") + ctypes.sizeof(ctypes.c_void_p))
            device.value = self.__dlpack_device__()[0]
            return capsule

        def __dlpack_device__(self):
            return 2, 0  # CUDA

    with pytest.raises(ringcraft.Error, match=r"k: expected an array in the memory of the CPU, .* \.get\(\) in CuPy"):
        ringcraft.attention(Q, OnDevice(), Q)


def test_arrays_of_every_kind_of_memory():
    want = ringcraft.attention(Q, Q, Q)
    ahead = Q[:, ::-1].copy()[:, ::-1]  # with a negative stride
    for array in (np.asfortranarray(Q), ahead, memoryview(Q), np.lib.stride_tricks.as_strided(Q), Q[...]):
        assert np.array_equal(ringcraft.attention(Q, array, array), want)
    assert ringcraft.attention(np.broadcast_to(Q[:, :1], Q.shape), Q, Q).shape == Q.shape
    assert _core.read_at(Q) == Q.ctypes.data


def test_threads_may_be_left_to_attend():
    assert np.array_equal(ringcraft.attend(Q, Q, Q, ranks=2, threads=None).out, ringcraft.attend(Q, Q, Q, ranks=2).out)


def usual(q, k, v):
    return ringcraft.attention(q, k, v)


@pytest.mark.parametrize(("options", "said"), [
    ({"function": lambda q, k, v: [usual(q, k, v), None]}, "result: expected out, .out, lse. or a dict .* got a list as out"),
    ({"function": lambda q, k, v: (usual(q, k, v),) * 3}, "result: expected out, .out, lse. or a dict .* got a tuple of 3"),
    ({"function": lambda q, k, v: {"lse": [q]}}, "result: expected out, .* got a list as lse"),
    ({"function": lambda q, k, v: usual(q, k, v).tolist()}, "result: expected out, .* got a list as out"),
    ({"backward": lambda q, k, v, dout: (q, k)}, "backward: expected dq, dk, dv, or a dict of them, got 2 results"),
    ({"backward": lambda q, k, v, dout: None}, "backward: expected dq, dk, dv, .* got NoneType"),
    ({"backward": lambda q, k, v, dout: {"grad_q": q}}, "backward: expected dq, dk, dv, got grad_q"),
])
def test_results_that_nobody_can_judge_are_refused(options, said):
    with pytest.raises(ringcraft.Error, match=said):
        ringcraft.verify(**{"function": usual, **options})
