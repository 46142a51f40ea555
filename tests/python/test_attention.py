"""Attention, gradients, ranks and the oracle: numbers, memory, errors, threads, Ctrl-C."""
import gc
import os
import signal
import threading
import time

import numpy as np
import pytest
import ringcraft
from ringcraft import _core


def inputs(seqlen=53, heads=8, kv_heads=2, head_dim=16, batch=1, dtype="float64", seed=1):
    random = np.random.default_rng(seed)
    q, dout = random.standard_normal((2, batch, heads, seqlen, head_dim)).astype(dtype)
    k, v = random.standard_normal((2, batch, kv_heads, seqlen, head_dim)).astype(dtype)
    return q, k, v, dout


MASKS = [{}, {"causal": True}, {"window": (7, 0)}, {"window": 3}, {"cu_seqlens": [0, 5, 24, 25, 53], "causal": True}]


def close(got, want, scale):
    return np.all(np.abs(got - want) <= 1e-12 * scale + 1e-300)


@pytest.mark.parametrize("mask", MASKS)
def test_numbers_agree_with_the_oracle(mask):
    q, k, v, dout = inputs(batch=2)
    value, scale = ringcraft.oracle(q, k, v, dout, **mask)
    out, lse = ringcraft.attention(q, k, v, return_lse=True, **mask)
    gradients = ringcraft.attention_backward(dout, q, k, v, out, lse, **mask)
    for name, got in zip(("out", "lse", "dq", "dk", "dv"), (out, lse, *gradients)):
        assert got.dtype == np.float64 and close(got, value[name], scale[name]), name


@pytest.mark.parametrize("mask", MASKS[:2])
@pytest.mark.parametrize(("method", "options"), [
    ("ring", {}), ("ring", {"schedule": "forward"}), ("all-gather", {}), ("all-gather", {"gather_heads": 1}),
    ("ulysses", {}), ("hybrid", {"ulysses": 2}), ("double-ring", {"node": 2})])
def test_every_method_on_ranks(method, options, mask):
    q, k, v, dout = inputs(heads=8, kv_heads=4)
    value, scale = ringcraft.oracle(q, k, v, dout, **mask)
    run = ringcraft.attend(q, k, v, dout, ranks=4, method=method, trace=True, **mask, **options)
    for name in value:
        assert close(getattr(run, name), value[name], scale[name]), name
    for costs in (run.forward, run.backward):
        for figure in ("bytes_sent", "messages_sent", "peak_bytes", "pairs"):
            assert getattr(costs, figure) == getattr(costs.theory, figure), figure
    assert run.trace.is_right(), run.trace.report()
    assert '"traceEvents"' in run.trace.text()
    assert len(run.trace.lanes()) == 4


@pytest.mark.parametrize("layout", ringcraft.layouts())
def test_scatter_and_gather(layout):
    x = np.arange(2 * 3 * 11 * 4).reshape(2, 3, 11, 4)
    shards = ringcraft.scatter(x, 4, layout)
    assert sorted(np.concatenate(ringcraft.positions(11, 4, layout))) == list(range(11))
    assert np.array_equal(ringcraft.gather(shards, layout), x)
    flat = ringcraft.scatter(x[0, 0], 3, layout, axis=-2)
    assert np.array_equal(ringcraft.gather(flat, layout, axis=-2), x[0, 0])
    with pytest.raises(ringcraft.Error, match="shards: expected"):
        ringcraft.gather([shards[0], shards[0][:, :, :0]], layout)


def test_axes_are_a_view_of_one_order():
    q, k, v, _ = inputs()
    out, lse = ringcraft.attention(q, k, v, causal=True, return_lse=True)
    turned = [x.transpose(0, 2, 1, 3) for x in (q, k, v)]
    out2, lse2 = ringcraft.attention(*turned, causal=True, axes="bshd", return_lse=True)
    assert np.array_equal(out2.transpose(0, 2, 1, 3), out) and np.array_equal(lse2.transpose(0, 2, 1), lse)
    out3 = ringcraft.attention(*(x[0] for x in turned), causal=True, axes="shd")
    assert np.array_equal(out3, out2[0])


def test_contiguous_inputs_are_not_copied_and_never_written():
    q, k, v, dout = inputs(seqlen=300, dtype="float32")
    for x in (q, k, v, dout):
        x.flags.writeable = False
    before = [x.copy() for x in (q, k, v, dout)]
    assert _core.read_at(q) == q.ctypes.data and _core.read_at(k) == k.ctypes.data
    assert _core.read_at(q[0, 0], "sd") == q.ctypes.data and _core.read_at(q[:, :1, 5:], "bhsd") == q[:, :1, 5:].ctypes.data
    for copied in (q.transpose(0, 2, 1, 3), q[:, :, ::2], q[:, :2, 5:], q[:, :1, :9].astype("float16")):
        assert _core.read_at(copied) != copied.ctypes.data
    ringcraft.attend(q, k, v, dout, ranks=3)
    out, lse = ringcraft.attention(q, k, v, return_lse=True)
    ringcraft.attention_backward(dout, q, k, v, out, lse)
    assert all(np.array_equal(a, b) for a, b in zip(before, (q, k, v, dout)))


def test_results_own_their_memory():
    q, k, v, _ = inputs()
    out = ringcraft.attention(q, k, v)
    kept = out.copy()
    del q, k, v
    gc.collect()
    out2 = ringcraft.attention(*inputs(seed=2)[:3])
    assert np.array_equal(out, kept) and not np.array_equal(out, out2) and out.flags.writeable


def test_no_memory_leaks():
    q, k, v, dout = inputs(seqlen=16)

    def work():
        out, lse = ringcraft.attention(q, k, v, causal=True, return_lse=True)
        ringcraft.attention_backward(dout, q, k, v, out, lse, causal=True)
        try:
            ringcraft.attention(q, k, v[0])
        except ringcraft.Error:
            pass

    def resident():
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    for _ in range(500):
        work()
    gc.collect()
    begin = resident()
    for _ in range(10000):
        work()
    gc.collect()
    assert resident() - begin < 4 << 20


def test_threads_at_once():
    q, k, v, _ = inputs(seqlen=200)
    want = ringcraft.attention(q, k, v, causal=True)
    results = [None] * 8

    def work(i):
        results[i] = [ringcraft.attention(q, k, v, causal=True) for _ in range(20)]

    workers = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert all(np.array_equal(out, want) for result in results for out in result)


def test_the_lock_of_the_interpreter_is_released():
    q, k, v, _ = inputs(seqlen=4096, heads=16, kv_heads=16, head_dim=64, dtype="float32")
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    begin = time.monotonic()
    ringcraft.attention(q, k, v, threads=1)
    seconds = time.monotonic() - begin
    done.set()
    ticker.join()
    assert len(ticks) > min(20, 50 * seconds)


@pytest.mark.parametrize("compute", [  # each takes minutes
    lambda q: ringcraft.attention(q, q, q),
    lambda q: ringcraft.oracle(*(q[:, :, :8192],) * 3),
    lambda q: ringcraft.simulate(ranks=4096, tokens=1 << 20),
    lambda q: ringcraft.attend(q, q, q, ranks=4),
    lambda q: ringcraft.verify(lambda q, k, v: q, cases=[ringcraft.Case(ringcraft.Problem(8192, 16, 64))]),
], ids=["attention", "oracle", "simulate", "attend", "verify"])
def test_ctrl_c_ends_a_long_computation(compute):
    q = np.random.default_rng(0).random((1, 16, 65536, 64), dtype="float32")
    threads = os.listdir("/proc/self/task")
    alarm = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    alarm.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        compute(q)
    assert time.monotonic() - begin < 15
    alarm.join()
    time.sleep(0.01)  # until the system has taken those that were joined off its list
    assert os.listdir("/proc/self/task") == threads


@pytest.mark.parametrize(("change", "sentence"), [
    (lambda q, k, v: (q[0], k, v), r"q: expected 4 dimensions"),
    (lambda q, k, v: (q, k[:, :, :5], v), r"k: expected \[1, 2, 53, 16\]"),
    (lambda q, k, v: (q, k, v[:, :1]), r"v: expected \[1, 2, 53, 16\]"),
    (lambda q, k, v: (q, k.astype("float32"), v), "k: expected float64, as q, got float32"),
    (lambda q, k, v: (q.astype("float16"), k.astype("float16"), v.astype("float32")), "v: expected float16, as q, got float32"),
    (lambda q, k, v: (q.astype(int), k, v), "q: expected float64, float32, bfloat16 or float16, got int64"),
    (lambda q, k, v: (q.astype(complex), k, v), "q: expected float64, .* got complex128"),
    (lambda q, k, v: ([1, 2], k, v), "q: expected an array .* got list"),
    (lambda q, k, v: (q, k, v.tolist()), "v: expected an array .* got list; make it one"),
    (lambda q, k, v: (q, k, None), "v: expected an array .* got NoneType"),
    (lambda q, k, v: (q, np.ma.array(k), v), "k: expected an array without a mask of its own"),
    (lambda q, k, v: (q[:, :, :0], k[:, :, :0], v[:, :, :0]), "seqlen"),
    (lambda q, k, v: (q[:, :3], k, v), "heads"),
])
def test_wrong_arrays_are_refused(change, sentence):
    with pytest.raises(ringcraft.Error, match=sentence):
        ringcraft.attention(*change(*inputs()[:3]))


@pytest.mark.parametrize(("options", "sentence"), [
    ({"axes": "bhs"}, "axes"), ({"axes": "bhsx"}, "axes"), ({"window": (1, 2, 3)}, "window"), ({"window": (-5, 0)}, "window: expected a left limit"),
    ({"cu_seqlens": [0, 5]}, "cu_seqlens"), ({"cu_seqlens": [0, 60, 53]}, "cu_seqlens"),
    ({"window": (2.7, 0)}, "window: expected whole numbers, got 2.7"),
    ({"cu_seqlens": [0, 4.9, 53]}, "cu_seqlens: expected whole numbers, got 4.9"),
    ({"softmax_scale": float("nan")}, "scale"), ({"threads": 0}, "threads: expected at least 1"),
    ({"causal": 1.5}, "causal: expected True or False, got 1.5"), ({"window": "37"}, "window: expected .left, right., got '37'"),
    ({"window": True}, "window: expected .left, right., got True"), ({"cu_seqlens": 53}, "cu_seqlens: expected the borders"),
    ({"softmax_scale": "x"}, "softmax_scale: expected a number, got 'x'"), ({"axes": 4}, "axes: expected letters"),
    ({"threads": 1.5}, "threads: expected a whole number, got 1.5"),
    ({"threads": 2**40}, "threads: expected a whole number below 2..31"), ({"window": {1: 2, 3: 4}}, "window: expected .left, right."),
    ({"window": 2**70}, "window: expected whole numbers below 2..63"),
    ({"return_lse": "x"}, "return_lse: expected True or False, got 'x'"),
])
def test_wrong_options_are_refused(options, sentence):
    with pytest.raises(ringcraft.Error, match=sentence):
        ringcraft.attention(*inputs()[:3], **options)


@pytest.mark.parametrize(("options", "sentence"), [
    ({"method": "rng"}, "method: expected one of ring"), ({"layout": "zig"}, "layout: expected one of"),
    ({"ranks": 0}, "rank"), ({"ranks": "4"}, "ranks: expected a whole number, got '4'"), ({"method": "ring", "ulysses": 2}, "ulysses: expected none with the method ring"),
    ({"method": "hybrid", "ulysses": 3}, "ulysses"), ({"schedule": "sideways"}, "schedule: expected forward or reversed"),
    ({"method": "ulysses", "ranks": 5}, "ulysses"),
    ({"seconds_per_byte": -1.0}, "seconds_per_byte: expected a finite number"),
    ({"seconds_per_pair": float("nan")}, "seconds_per_pair: expected"),
    ({"seconds_per_byte": "x"}, "seconds_per_byte: expected a number, got 'x'"),
    ({"trace": "t.json"}, "trace: expected True or False, got 't.json'"),
    ({"per_sequence": 1.5}, "per_sequence: expected True or False, got 1.5"),
    ({"seconds_per_message": float("inf")}, "seconds_per_message: expected"),
])
def test_wrong_methods_are_refused(options, sentence):
    with pytest.raises(ringcraft.Error, match=sentence):
        ringcraft.attend(*inputs()[:3], **{"ranks": 4, **options})


PROBLEM = ringcraft.Problem(8, 2, 4)


@pytest.mark.parametrize(("call", "sentence"), [
    (lambda: ringcraft.Problem("64", 2, 8), "seqlen: expected a whole number, got '64'; see help.ringcraft.Problem."),
    (lambda: ringcraft.Problem(64, 2.0, 8), "heads: expected a whole number, got 2.0"),
    (lambda: ringcraft.Problem(64, True, 8), "heads: expected a whole number, got True"),
    (lambda: ringcraft.Problem(64, 2, None), "head_dim: expected a whole number, got None"),
    (lambda: ringcraft.Problem(64, 2, 8, ranks=2**40), "ranks: expected a whole number from .* got 1099511627776"),
    (lambda: ringcraft.Problem(64, 2, 8, mask=(3, 0)), "mask: expected a ringcraft.Mask, got .3, 0."),
    (lambda: ringcraft.Problem(64, 2, 8, layout=3), "layout: expected a name, got 3"),
    (lambda: ringcraft.Problem(64, 2, 8, per_sequence="no"), "per_sequence: expected True or False, got 'no'"),
    (lambda: ringcraft.Problem(64, 2, 8, softmax_scale="x"), "softmax_scale: expected a number, got 'x'"),
    (lambda: ringcraft.Problem(64, 2), "head_dim: expected a value, got none"),
    (lambda: ringcraft.Problem(64, 2, 8, 2), "at most 3 arguments without a name .seqlen, heads, head_dim., got 4"),
    (lambda: ringcraft.Problem(64, 2, 8, rank=2), "expected the names seqlen, .* got rank; rename it"),
    (lambda: ringcraft.Problem(64, 2, 8, heads=2), "expected heads once, got it twice"),
    (lambda: ringcraft.Mask("3"), "left: expected a whole number, got '3'"),
    (lambda: ringcraft.Mask(cu_seqlens="ab"), "cu_seqlens: expected a list of whole numbers, got 'ab'"),
    (lambda: ringcraft.Mask(cu_seqlens=[0, 2.5]), "cu_seqlens: expected a list of whole numbers, got .0, 2.5."),
    (lambda: ringcraft.Case(3), "problem: expected a ringcraft.Problem, got 3"),
    (lambda: ringcraft.Case(PROBLEM, 4), "data: expected a name, got 4"),
    (lambda: ringcraft.Case(PROBLEM, seed=-1), "seed: expected a whole number from 0 to"),
    (lambda: ringcraft.Case(PROBLEM).inputs("x"), "wide: expected True or False, got 'x'"),
    (lambda: PROBLEM.positions("a"), "rank: expected a whole number, got 'a'; see help.ringcraft.Problem.positions."),
    (lambda: PROBLEM.rows(None), "rank: expected a whole number, got None"),
    (lambda: PROBLEM.owner_of(2.0), "position: expected a whole number, got 2.0"),
    (lambda: PROBLEM.keys_seen([]), "position: expected a whole number, got .."),
    (lambda: PROBLEM.key_ranges(0, "b"), "source: expected a whole number, got 'b'"),
    (lambda: ringcraft.Machine("mine"), "ranks_per_node: expected a value, got none"),
    (lambda: ringcraft.Machine("mine", ranks_per_node="4"), "ranks_per_node: expected a whole number, got '4'"),
    (lambda: ringcraft.Machine.named(3), "machine: expected a name, got 3"),
    (lambda: ringcraft.case_table("x"), "full: expected True or False, got 'x'"),
    (lambda: ringcraft.simulate(ranks=4, tokens=99, slow_links=[(1, 2)]), "slow_links: expected a list of .rank, rank, factor."),
    (lambda: ringcraft.simulate(ranks=4, tokens=99, slow_ranks=5), "slow_ranks: expected a list of .rank, factor., got 5"),
    (lambda: ringcraft.simulate(ranks=4, tokens=99, machine=5), "machine: expected a name or a ringcraft.Machine, got 5"),
    (lambda: ringcraft.attend(*inputs()[:3], ranks=2, method=3), "method: expected a name, got 3"),
])
def test_arguments_of_another_kind_are_refused(call, sentence):
    with pytest.raises(ringcraft.Error, match=sentence):
        call()


def test_what_stands_for_a_number_is_one():
    scale = np.float32(0.5)
    problem = ringcraft.Problem(np.int64(8), 2, np.uint8(4), mask=ringcraft.Mask(np.int32(3), 0, np.array([0, 8])), softmax_scale=scale)
    assert problem == ringcraft.Problem(8, 2, 4, mask=ringcraft.Mask(3, 0, (0, 8)), softmax_scale=0.5)
    assert ringcraft.Problem(8, 2, 4, mask=None, kv_heads=None) == PROBLEM


@pytest.mark.parametrize(("call", "sentence"), [
    (lambda q: ringcraft.attention_backward(None, q, q, q, q, q), "dout: expected an array .* got NoneType"),
    (lambda q: ringcraft.oracle(q, q, [1]), "v: expected an array .* got list"),
    (lambda q: ringcraft.attend(q, q, q, [1], ranks=2), "dout: expected an array .* got list"),
    (lambda q: ringcraft.scatter([1, 2, 3], 2), "x: expected an array .* got list"),
    (lambda q: ringcraft.scatter(q, 2, axis=7), r"axis: expected that of the tokens in an array of shape .* got 7"),
    (lambda q: ringcraft.gather(3), "shards: expected a list with one for each rank, got int"),
    (lambda q: ringcraft.gather([[1], [2]]), "shards: expected an array .* got list"),
])
def test_what_is_no_array_is_refused(call, sentence):
    with pytest.raises(ringcraft.Error, match=sentence):
        call(inputs()[0])


def test_every_order_in_memory_is_read():
    q, k, v, _ = inputs(dtype="float32")
    want = ringcraft.attention(q, k, v)
    assert np.array_equal(ringcraft.attention(*(np.asfortranarray(x) for x in (q, k, v))), want)
    assert np.array_equal(ringcraft.attention(*(memoryview(x) for x in (q, k, v))), want)
    backwards = ringcraft.attention(*(x[:, :, ::-1] for x in (q, k, v)))
    assert np.array_equal(backwards, ringcraft.attention(*(x[:, :, ::-1].copy() for x in (q, k, v))))


def test_a_fork_computes_on():
    big = inputs(seqlen=1500, heads=4, dtype="float32")[0]
    ringcraft.attention(big, big, big)  # threads are at work before the fork
    child = os.fork()
    if child == 0:
        ringcraft.attention(big, big, big)
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_nan_goes_through_attention_and_is_refused_by_the_oracle():
    q, k, v, _ = inputs()
    q[0, 0, 3, 0] = np.nan
    out = ringcraft.attention(q, k, v)
    assert np.isnan(out[0, 0, 3]).all() and np.isfinite(out[0, 0, 4]).all()
    with pytest.raises(ringcraft.Error, match="finite"):
        ringcraft.oracle(q, k, v)


def test_a_capsule_can_be_taken_once():
    q, k, v, _ = inputs(dtype="float32")
    capsule = q.__dlpack__()
    _core.read_at(capsule)
    with pytest.raises(ringcraft.Error, match="a DLPack capsule that nothing has taken yet"):
        _core.read_at(capsule)


def test_results_of_half_types_are_of_half_types():
    q, k, v, dout = inputs(dtype="float16")
    out, lse = ringcraft.attention(q, k, v, causal=True, return_lse=True)
    assert out.dtype == np.float16 and lse.dtype == np.float32
    whole = ringcraft.attention(*(x.astype("float32") for x in (q, k, v)), causal=True)
    assert np.array_equal(out, whole.astype("float16"))
    gradients = ringcraft.attention_backward(dout, q, k, v, out.astype("float32"), lse, causal=True)
    assert all(gradient.dtype == np.float16 for gradient in gradients)
    run = ringcraft.attend(q, k, v, dout, ranks=3, causal=True)
    assert (run.out.dtype, run.lse.dtype, run.dk.dtype) == (np.float16, np.float32, np.float16)


def test_the_form_of_a_run_is_short():
    assert repr(ringcraft.attend(*inputs(), ranks=3)) == "<Run: out [1, 8, 53, 16] of 3 ranks, with gradients>"


def test_errors_are_one_class():
    assert issubclass(ringcraft.Error, ValueError)
    q, k, v, _ = inputs()
    for array, kind in (("q", "str"), ([1.0], "list")):
        with pytest.raises(ringcraft.Error, match=f"array: expected an array .* got {kind}; make it one"):
            _core.read_at(array)
    for type_ in (">f8", "g", "O"):
        with pytest.raises(ringcraft.Error, match="array: expected plain numbers .* got ndarray of .*; convert the array first"):
            _core.read_at(q.astype(type_))
    with pytest.raises(ringcraft.Error, match="q: expected plain numbers"):
        ringcraft.attention(q.astype(">f8"), k, v)


def test_whole_numbers_of_numpy_are_whole_numbers():
    q, k, v, _ = inputs()
    assert np.array_equal(ringcraft.attention(q, k, v, window=np.int64(3)), ringcraft.attention(q, k, v, window=3))
    assert np.array_equal(ringcraft.attention(q, k, v, cu_seqlens=np.array([0, 5, 53])),
                          ringcraft.attention(q, k, v, cu_seqlens=[0, 5, 53]))


def test_problems_and_cases():
    problem = ringcraft.Problem(12, 4, 8, kv_heads=2, mask=ringcraft.Mask(3, 0, [0, 5, 12]), ranks=3, layout="zigzag")
    assert (problem.seqlen, problem.heads, problem.kv_heads, problem.head_dim) == (12, 4, 2, 8)
    assert problem.keys_seen(7) == (5, 8) and problem.mask == ringcraft.Mask(3, 0, [0, 5, 12])
    assert [problem.owner_of(p) for r in range(3) for p in problem.positions(r)] == [0] * 4 + [1] * 4 + [2] * 4
    none = ringcraft.Problem(2, 1, 1, ranks=3).positions(2)  # of no row: an index all the same
    assert none.dtype == np.int64 and none.shape == (0,)
    begins, ends = problem.key_ranges(1, 0)
    assert len(begins) == problem.rows(1) and all(b <= e for b, e in zip(begins, ends))
    case = ringcraft.Case(problem, "hot", 7)
    assert all(np.array_equal(a, b) for a, b in zip(case.inputs().values(), case.inputs().values()))
    assert {c.data for c in ringcraft.case_table()} == {"normal", "hot", "negative", "gap", "peaked", "huge"}
    for wrong in (lambda: problem.positions(3), lambda: problem.key_ranges(0, -1), lambda: problem.keys_seen(12),
                  lambda: ringcraft.Case(problem, "odd")):
        with pytest.raises(ringcraft.Error):
            wrong()


def test_simulation():
    run = ringcraft.simulate(ranks=16, tokens=131072, trace=True, slow_ranks=[(3, 2.0)])
    even = ringcraft.simulate(ranks=16, tokens=131072)
    assert run.forward.bytes_sent == run.forward.theory.bytes_sent and run.seconds > 1.5 * even.seconds
    assert len(run.lanes) == 16 and all(b >= a for lane in run.lanes for _, a, b in lane)
    machine = ringcraft.Machine("slow", ranks_per_node=4, peak_flops=1e12, efficiency=0.5, inside_latency=1e-6,
                                inside_bandwidth=1e9, between_latency=1e-5, between_bandwidth=1e8)
    assert ringcraft.simulate(ranks=16, tokens=131072, machine=machine).seconds > even.seconds
    for options in ({"machine": "8xM5"}, {"ranks": 0}, {"slow_ranks": [(99, 2.0)]}, {"method": "none"}):
        with pytest.raises(ringcraft.Error):
            ringcraft.simulate(**{"ranks": 8, "tokens": 4096, **options})
    with pytest.raises(ringcraft.Error):
        ringcraft.Machine("none", ranks_per_node=0, peak_flops=1, efficiency=1, inside_latency=0, inside_bandwidth=1,
                          between_latency=0, between_bandwidth=1)
