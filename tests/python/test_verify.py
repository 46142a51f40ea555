"""verify: right is right, and each mistake is named by its id."""
import importlib.util
import inspect
import io
import itertools
import os
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import ringcraft
from ringcraft._cases import Abilities, cases_for, code_of
from rings import Ring, verified, visible

MISTAKES = {
    "scale missing": "BL5", "scale inverted": "BL4", "scale without root": "BL5-twice", "heads modulo": "GQ1",
    "wrong label": "RF4", "own label": "RF5", "local positions": "CM1", "window one short": "SW1",
    "borders ignored": "VL1", "strict mask": "CM5", "no mask in own block": "CM11", "future blocks visible": "CM4",
    "masked scores are 0": "CM6", "one step too few": "RF1", "one step too many": "RF2", "v not rotated": "RX8",
    "factor inverted": "OS4", "l not rescaled": "OS1", "o not rescaled": "OS2", "neither rescaled": "OS3",
    "divided at every hop": "solved-merge-weights", "never divided": "RF9", "partial results averaged": "RF7-all",
    "no mask backward": "RB9", "no delta": "BW1", "sign of ds": "BW8", "dq overwritten": "RB10-step",
    "lse of the last block": "BW-lse-last", "gradients stay": "RB1", "gradients go the other way": "RB3",
    "dk not scaled": "BW7",
    "gradients divided by ranks": "RB11", "dk and dv exchanged": "RB6",
    "halves of dk and dv exchanged": "rows-halves-kv",
}
RING = Abilities(settings=frozenset({"problem"}), windows=True, packed=True, scales=True, ranks=3)
CASES = cases_for(RING, False)


@pytest.mark.parametrize("layout", ringcraft.layouts())
def test_a_right_ring_is_right(layout):
    found = verified(None, layout=layout)
    assert found.right and not found.wrong and found.cause is None and found.smallest is None, str(found)
    assert len(found.verdicts) == 40
    assert all(verdict.data["judged"] == ["out", "lse", "dq", "dk", "dv"] for verdict in found.verdicts)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named(mistake):
    found = verified(mistake, simplify=False, cases=CASES[::2])
    assert not found
    assert found.cause is not None and found.cause.id == MISTAKES[mistake], str(found)
    assert found.cause.general == found.cause.id.startswith("solved")  # a description instead of a mistake's name
    assert found.cause.sentence in str(found) and found.cause.question in str(found)


@pytest.mark.parametrize("layout", ["contiguous", "zigzag"])
@pytest.mark.parametrize(("more", "cause"), [(-1, "solved-mask-window-short"), (1, "solved-mask-window-long")])
def test_a_mistake_of_some_blocks_is_not_taken_for_one_of_all(layout, more, cause):
    class OffWhereReceived(Ring):
        def seen(self, rank, source):
            mask = self.p.mask
            left = mask.left if mask.left is None or source == rank else mask.left + more
            return visible(self.p, self.at[rank], self.at[source], left, mask.right, mask.cu_seqlens)

    cases = [case for case in cases_for(replace(RING, ranks=4, layout=layout), False) if case.problem.mask.left is not None]
    found = ringcraft.verify(OffWhereReceived(), ranks=4, layout=layout, dtype="float64", simplify=False, cases=cases)
    assert found.cause is not None and found.cause.id == cause, str(found)
    assert found.cause.sentence.startswith("every block that arrives is seen through a window of one key")
    assert all(verdict.causes[0].id == cause for verdict in found.agreeing())


def test_a_known_mistake_does_not_give_way_to_what_ragged_shards_add():
    found = verified("gradients stay", simplify=False, cases=CASES)  # drops what has another shape, besides
    assert found.cause is not None and found.cause.id == "RB1", str(found)


def test_float64_results_of_float32_inputs_are_judged_in_float32():
    ring = Ring()

    def wide(q, k, v, problem):  # as an array of zeros is, unless its type is said
        out, lse = ring(q, k, v, problem)
        return out.astype("float32").astype("float64"), lse.astype("float32").astype("float64")

    found = ringcraft.verify(wide, ranks=3)
    assert found and "returned as" not in str(found), str(found)
    assert not ringcraft.verify(wide, ranks=3, dtype="float64", simplify=False, cases=CASES[:5])


def dense(score, wide="float32"):
    """Causal or full attention in NumPy, from score(products of q and k, head_dim)."""
    def function(q, k, v, causal):
        k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
        with np.errstate(over="ignore"):
            scores = score(q @ k.swapaxes(2, 3), q.shape[3]).astype(wide)
        if causal:
            scores = np.where(np.tri(*scores.shape[2:], dtype=bool), scores, -np.inf)
        with np.errstate(invalid="ignore"):
            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return weights @ v.astype(wide) / weights.sum(axis=-1, keepdims=True)

    return function


def test_a_scale_in_float64_hides_no_cause():
    # NumPy's square root is a float64, which makes all that follows float64: of scores that float32 has rounded.
    found = ringcraft.verify(dense(lambda products, head_dim: products / np.sqrt(head_dim) ** 2, "float64"), simplify=False)
    assert found.cause is not None and found.cause.id == "BL5-twice", str(found)
    assert len(found.agreeing()) == len(found.wrong), str(found)


def test_results_of_half_scores_have_their_cause_in_a_wider_type():
    found = ringcraft.verify(dense(lambda products, head_dim: products), dtype="float16", simplify=False)
    assert found.cause is not None and found.cause.id == "BL5", str(found)


def test_scores_that_float16_does_not_hold_are_told():
    found = ringcraft.verify(dense(lambda products, head_dim: products.astype("float32") * head_dim**-0.5), dtype="float16",
                             simplify=False)
    assert found.cause is not None and found.cause.id == "half-scores", str(found)

    def guarded(q, k, v, causal, softmax_scale):
        out = dense(lambda products, head_dim: products.astype("float32") * softmax_scale)(q, k, v, causal)
        return np.where(np.isfinite(out).all(axis=-1, keepdims=True), out, np.float32(0))

    found = ringcraft.verify(guarded, dtype="float16", simplify=False)
    assert found.cause is not None and found.cause.id == "half-scores" and "is zero" in found.cause.sentence, str(found)


def calls_of(change):
    """Attention of which every call is changed by its number."""
    def counted(q, k, v, causal):
        counted.calls += 1
        return change(counted.calls, ringcraft.attention(q, k, v, causal=causal))

    counted.calls = 0
    return counted


def lost(call, out):
    if call <= 30 and call % 2:
        raise RuntimeError("message lost")
    return out


def with_a_row_of_nan(call, out):
    if call in (3, 9):
        out[..., -1, :] = np.nan
    return out


@pytest.mark.parametrize(("change", "wrong"), [
    (lambda call, out: out * (2 if call == 3 else 1), 1), (lost, 15), (with_a_row_of_nan, 2),
    (lambda call, out: out * (1.5 if call % 2 else 1), 20)])
def test_a_case_that_was_wrong_once_stays_wrong_and_no_cause_is_told_of_what_changes(change, wrong):
    found = ringcraft.verify(calls_of(change))
    assert len(found.wrong) == wrong and found.unsteady is not None and found.cause is None and found.smallest is None
    assert "asked again, it answers the case below otherwise" in str(found) and "likely:" not in str(found)
    assert pickle.loads(pickle.dumps(found)) == found


def test_answers_in_memory_that_later_calls_reuse_are_kept():
    def change(call, out):
        kept = memory.setdefault(out.shape, np.empty_like(out))
        kept[:] = out * (1 + 0.5 * (call % 3))
        return kept

    memory = {}
    found = ringcraft.verify(calls_of(change))
    assert found.unsteady is not None and found.cause is None, str(found)


def test_sums_in_another_order_are_the_same_answer():
    rng = np.random.default_rng(1)

    def unordered(q, k, v):
        order = rng.permutation(k.shape[2])
        return ringcraft.attention(q, k[:, :, order], v[:, :, order], softmax_scale=1.0)

    found = ringcraft.verify(unordered, simplify=False)
    assert found.unsteady is None and found.cause is not None and "the softmax scale is missing" in found.cause.sentence


@pytest.mark.parametrize("wrong", [
    lambda q, k, v, softmax_scale: ringcraft.attention(q, k, v),
    lambda q, k, v, causal, softmax_scale: ringcraft.attention(q, k, v, causal=causal),
    lambda q, k, v, causal, window, cu_seqlens, softmax_scale: ringcraft.attention(
        q, k, v, causal=causal, window=window, cu_seqlens=cu_seqlens),
    lambda q, k, v, window: ringcraft.attention(q, k, v, window=None if min(window) == -1 < max(window) else window),
    lambda q, k, v, causal, window: ringcraft.attention(q, k, v, causal=causal, window=None if min(window) > 2 else window),
    lambda q, k, v, causal: np.concatenate([ringcraft.attention(q, k, v, causal=causal)[:, :, :128], q[:, :, 128:]], 2),
    lambda q, k, v, causal: np.where(np.arange(q.shape[3]) < 64, ringcraft.attention(q, k, v, causal=causal), np.float32(0)),
    lambda q, k, v, causal: ringcraft.attention(q, k, v, causal=causal) * (np.arange(q.shape[1]) < 8)[:, None, None],
])
def test_what_only_some_scales_windows_and_sizes_show_is_asked(wrong):
    found = ringcraft.verify(wrong, simplify=False)
    assert not found and 0 < len(found.wrong) < 20


def test_errors_of_some_size_are_no_rounding_where_those_of_other_cases_are_larger():
    def noisy(q, k, v, causal):
        out = ringcraft.attention(q, k, v, causal=causal)
        return out * (1 + 0.3 * np.random.default_rng(1).standard_normal(out.shape).astype(out.dtype))

    found = ringcraft.verify(noisy, simplify=False, ranks=2)
    assert any(cause.guess for verdict in found.wrong for cause in verdict.causes) and found.cause is None


def test_an_lse_in_a_half_type_may_be_as_far_off():
    def in_halves(scale):
        def function(q, k, v, causal):
            out, lse = ringcraft.attention(*(x.astype("float64") for x in (q, k, v)), causal=causal, softmax_scale=scale,
                                           return_lse=True)
            with np.errstate(over="ignore"):
                return out.astype("float16"), lse.astype("float16")
        return function

    assert ringcraft.verify(in_halves(None), dtype="float16")
    assert not ringcraft.verify(in_halves(1.0), dtype="float16", simplify=False)


def test_a_function_with_more_keywords_gets_those_that_it_names():
    found = ringcraft.verify(lambda q, k, v, causal=False, **more: ringcraft.attention(q, k, v, causal=causal, **more))
    assert found and all(verdict.case.problem.mask.left is None for verdict in found.verdicts)
    asked = set()
    ringcraft.verify(lambda q, k, v, **more: asked.update(more) or q, simplify=False, cases=[case_of(2)])
    assert asked == {"causal", "window", "cu_seqlens", "softmax_scale", "mask", "problem"}


def test_the_forward_pass_is_that_of_the_function_alone():
    def backward(q, k, v, dout):
        return {"out": usual(q, k, v), "dq": q, "dk": k, "dv": v}

    with pytest.raises(ringcraft.Error, match="backward: expected dq, dk, dv, got out; the function itself returns out and lse"):
        ringcraft.verify(lambda q, k, v: 0 * q, backward=backward)


def plain(q, k, v, seen, scale, return_lse=False):
    """Attention of the pairs that are seen."""
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = np.where(seen, scale * (q @ k.swapaxes(2, 3)), -np.inf)
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - top)
    total = weights.sum(-1, keepdims=True)
    out = weights / total @ v
    return (out, (top + np.log(total))[..., 0]) if return_lse else out


def chunks_in_turn(return_lse):
    """Zig-zag data, whose mask believes that rank r has the chunks r and r + 4."""
    def function(q, k, v, softmax_scale):
        at = np.arange(q.shape[2]) // (q.shape[2] // 8)
        believed = np.where(at < 4, at, 11 - at) * (q.shape[2] // 8) + np.arange(q.shape[2]) % (q.shape[2] // 8)
        return plain(q, k, v, believed[:, None] >= believed, softmax_scale, return_lse)

    case = ringcraft.Case(ringcraft.Problem(24, 2, 16, mask=ringcraft.Mask(None, 0), ranks=4, layout="zigzag"), seed=3)
    found = ringcraft.verify(function, ranks=4, layout="zigzag", causal=True, dtype="float64", simplify=False, cases=[case])
    return found.verdicts[0]


def test_blocks_that_are_wrong_in_two_ways_are_told_apart_and_together():
    late = "the late half of the rows on the late half of the keys"
    later, earlier = (f"the blocks of later ranks are used without the pairs of {late}",
                      f"the blocks of earlier ranks are seen whole by {late}, without a mask")
    verdict = chunks_in_turn(True)
    assert [cause.sentence for cause in verdict.causes] == [later, earlier]
    assert f"likely: {later}" in verdict.text and f"and:    {earlier}" in verdict.text
    assert chunks_in_turn(False).causes == []


def test_a_window_without_its_right_side_is_named():
    def left_alone(q, k, v, window):
        apart = np.arange(q.shape[2])[:, None] - np.arange(q.shape[2])
        return plain(q, k, v, apart <= window[0] if window[0] >= 0 else True, q.dtype.type(q.shape[3] ** -0.5))

    found = ringcraft.verify(left_alone, causal=False, simplify=False, ranks=4)
    assert found.cause is not None and found.cause.id == "SW-none-right", str(found)


def test_the_only_block_is_not_counted_twice():
    def dropping(q, k, v, mask, softmax_scale):
        kept = np.random.default_rng(1).random(q.shape) > 0.1  # the same at every call
        return (plain(q, k, v, mask, softmax_scale) * kept / 0.9).astype("float32")

    for data in ("normal", "hot", "huge"):
        found = ringcraft.verify(dropping, simplify=False, cases=[ringcraft.Case(ringcraft.Problem(40, 2, 8), data=data, seed=5)])
        assert not found and "counted twice" not in str(found)


def test_cases_are_judged_in_the_same_order_in_every_process():
    """The ranks of a job judge together: one that asked another case first would wait without end."""
    code = """if True:
        import ringcraft
        from ringcraft import Case, Mask, Problem, _core

        judge, order = _core.judge, []
        def recorded(*given, **options):
            order.append(options["title"])
            return judge(*given, **options)
        _core.judge = recorded

        def wrong_at_7(q, k, v, causal, window):  # each kind of mask refutes the cause by itself
            return ringcraft.attention(q, k, v, causal=causal, window=window, softmax_scale=1.0 if q.shape[2] == 7 else None)

        cases = [Case(Problem(seqlen, 1, 4, mask=Mask(*limits)), seed=seqlen) for seqlen in (7, 9, 10)
                 for limits in ((None, None), (None, 0), (3, 0), (3, 2), (3, None), (None, 2), (0, 0), (0, None))]
        assert len(ringcraft.verify(wrong_at_7, cases=cases, simplify=False).wrong) > 5
        assert len(order) > len(cases) + 5
        print(order)"""
    orders = {subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout for _ in range(4)}
    assert len(orders) == 1


def test_results_of_cupy_are_copied_to_the_cpu():
    class Device:  # as cupy.ndarray: no __array__, and a module of this name
        __module__ = "cupy"

        def __init__(self, array):
            self.array, self.shape, self.dtype = array, array.shape, array.dtype

        def get(self):
            return self.array

    def on_device(scale):
        return lambda q, k, v, causal: tuple(
            map(Device, ringcraft.attention(q, k, v, causal=causal, softmax_scale=scale, return_lse=True)))

    assert ringcraft.verify(on_device(None), simplify=False)
    found = ringcraft.verify(on_device(1.0), simplify=False)
    assert found.cause is not None and "the softmax scale is missing" in str(found)


def test_what_no_cause_explains_in_float32_may_have_one_in_float64():
    def odd(q, k, v):
        out = ringcraft.attention(q, k, v)
        return out + 0.01 * np.arange(out.shape[2])[:, None]

    assert 'more may be found in float64, with dtype="float64"' in str(ringcraft.verify(odd, simplify=False))
    assert "in float64" not in str(ringcraft.verify(odd, dtype="float64", simplify=False))


def test_every_kind_of_mask_is_asked_as_often_and_plain_ones_twice():
    kinds = [(case.problem.mask.left is None, case.problem.mask.right and 1, bool(case.problem.mask.cu_seqlens)) for case in CASES]
    plain, rare = [(True, None, False), (True, 0, False)], (True, 1, False)  # of the last kind there is one case
    assert {kinds.count(kind) for kind in plain} == {7, 8} and kinds.count(rare) == 1
    assert {kinds.count(kind) for kind in {*kinds} - {*plain, rare}} == {4}
    lengths = [case.problem.seqlen for case, kind in zip(CASES, kinds, strict=True) if kind == (True, 0, False)]
    assert sum(length > 3 for length in lengths) > 4 and max(lengths) > 30


def test_an_error_of_the_library_in_the_function_is_one_of_the_function():
    def refusing(q, k, v, causal):
        return ringcraft.attention(q, k, v[:, :, 1:] if causal else v, causal=causal)

    found = ringcraft.verify(refusing, simplify=False)
    assert {verdict.right for verdict in found.verdicts} == {True, False}
    assert all(verdict.case.problem.mask.right == 0 for verdict in found.wrong)
    assert "it raised an exception" in str(found) and "Error: v: expected" in str(found)


@pytest.mark.parametrize(("mistake", "cause"), [("no maximum", "SS1"), ("maximum begins at 0", "SS3")])
def test_overflow_needs_float32(mistake, cause):
    ring = Ring(mistake)

    def narrow(q, k, v, problem):
        with np.errstate(all="ignore"):
            return tuple(x.astype("float32") for x in Ring.__call__(ring, q, k, v, problem))

    found = ringcraft.verify(narrow, ranks=3, simplify=False)
    assert cause in {each.id for verdict in found.wrong for each in verdict.causes}, str(found)


def in_half(x, exponent_bits):
    """The nearest numbers of bfloat16 (8 bits of exponent) or float16 (5)."""
    if exponent_bits == 5:
        return x.astype("float16").astype(x.dtype)
    bits = x.astype("float32").view("uint32")
    return ((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000).view("float32").astype(x.dtype)


@pytest.mark.parametrize(("dtype", "bits", "lse"), [("float32", 8, False), ("float64", 5, True)])
def test_rounding_once_is_no_rounding_after_every_merge(dtype, bits, lse):
    def rounded(q, k, v, causal, window, cu_seqlens, softmax_scale):
        out, total = ringcraft.attention(q, k, v, causal=causal, window=window, cu_seqlens=cu_seqlens,
                                         softmax_scale=softmax_scale, return_lse=True)
        return in_half(out, bits), in_half(total, bits) if lse else total

    found = ringcraft.verify(rounded, ranks=3, dtype=dtype, simplify=False)
    assert found.cause is not None and found.cause.id == "RF12-once", str(found)
    names = ("out and lse are" if lse else "out is") + f" rounded to {'bfloat16' if bits == 8 else 'float16'} once"
    assert found.cause.sentence.startswith(names), str(found)


@pytest.mark.parametrize(("leave", "said"), [(sys.exit, "SystemExit"), (lambda status: os._exit(status), "os._exit(0)")])
def test_a_function_that_ends_the_program_is_wrong(leave, said):
    before = os._exit
    found = ringcraft.verify(lambda q, k, v: leave(0), simplify=False)
    assert not found.right and len(found.wrong) == len(found.verdicts) and said in str(found)
    assert os._exit is before


def test_a_function_may_fork():
    def forks(q, k, v, causal, softmax_scale):
        child = os.fork()
        if child == 0:
            os._exit(5)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
        return ringcraft.attention(q, k, v, causal=causal, softmax_scale=softmax_scale, threads=1)

    assert ringcraft.verify(forks, cases=CASES[:2], windows=True, packed=True)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("seconds", "shown"), [(1.0, True), (0.01, False)])
def test_a_terminal_shows_which_case_it_is_after_a_while(monkeypatch, seconds, shown):
    times = itertools.count()
    monkeypatch.setattr("ringcraft._verify.time.monotonic", lambda: seconds * next(times))
    monkeypatch.setattr(sys, "stderr", Terminal())
    ringcraft.verify(lambda q, k, v: q, simplify=False)
    said = sys.stderr.getvalue()
    assert ("case 5 of 40" in said) == shown and ("case 1 of" not in said) and said.endswith("\r\x1b[K" if shown else "")
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    ringcraft.verify(lambda q, k, v: q, simplify=False)
    assert sys.stderr.getvalue() == ""


def test_the_signature_and_the_forms_are_for_people():
    names = list(inspect.signature(ringcraft.verify).parameters)
    assert names[:2] == ["function", "simplify"] and "ranks" in names and "caller" not in names
    wrong = ringcraft.verify(lambda q, k, v: ringcraft.attention(q, k, v, softmax_scale=1.0), simplify=False)
    assert repr(wrong).startswith("<Verification: <lambda>, 30 of 40 cases wrong; the softmax scale is missing")
    assert repr(wrong.wrong[0]).startswith("<Verdict: wrong, ") and wrong.wrong[0].case.name in repr(wrong.wrong[0])
    right = ringcraft.verify(lambda q, k, v: ringcraft.attention(q, k, v), simplify=False)
    assert repr(right) == "<Verification: <lambda>, 0 of 40 cases wrong>"
    assert repr(right.verdicts[0]) == f"<Verdict: right, {right.verdicts[0].case.name}>"


@pytest.mark.parametrize(("options", "said"), [
    ({"rank": 4}, "verify: expected the options cases, full, .* got rank; rename it"), ({"caller": 1}, "got caller"),
    ({"grouped": "no"}, "grouped: expected True or False, got 'no'"), ({"causal": 1.5}, "causal: expected True or False"),
    ({"simplify": "x"}, "simplify: expected True or False"), ({"axes": 4}, "axes: expected letters of bhsd, got 4"),
    *([] if importlib.util.find_spec("torch") else [({"arrays": "torch"}, "arrays: expected an installed package, got 'torch'")]),
    ({"head_dims": 64}, "head_dims: expected a list, got 64"), ({"multiple": True}, "multiple: expected a whole number from 1 to 4096, got True"),
    ({"cases": [1]}, "cases: expected a list of ringcraft.Case, got 1 in it"), ({"cases": "all"}, "cases: expected a list"),
])
def test_options_that_verify_does_not_have_are_refused(options, said):
    with pytest.raises(ringcraft.Error, match=said):
        ringcraft.verify(lambda q, k, v: q, **options)


@pytest.mark.parametrize(("function", "said"), [
    (lambda q, k, v, scale: q, "'scale'"),
    (lambda q, k: q, "of \\(q, k\\)"),
    (lambda q, k, v, /, causal, scale, *, window=None: q, "'scale'"),
    ("no function", "got str")])
def test_parameters_that_verify_cannot_fill_are_refused(function, said):
    with pytest.raises(ringcraft.Error, match=said):
        ringcraft.verify(function)


def test_a_backward_function_is_refused_likewise():
    with pytest.raises(ringcraft.Error, match="backward: expected a function of q, k, v, dout"):
        ringcraft.verify(lambda q, k, v: q, backward=lambda q, k, v: (q, k, v))


def softmax_without_care(how, q, k, v, softmax_scale, mask):
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    scores = softmax_scale * q @ k.swapaxes(2, 3)
    with np.errstate(all="ignore"):
        hidden = {"set": -1e4, "add": scores - 1e4, "zeroed": -np.inf}[how]
        scores = np.where(mask, scores, hidden)
        weights = np.exp(scores if how == "zeroed" else scores - scores.max(-1, keepdims=True))
        out = weights / weights.sum(-1, keepdims=True) @ v
    return np.nan_to_num(out) if how == "zeroed" else out


@pytest.mark.parametrize(("how", "sentence"), [
    ("set", "masked scores are a finite number, such as -1e4"),
    ("add", "a finite number, such as -1e4, is added to masked scores"),
    ("zeroed", "no maximum is subtracted, and what overflows or vanishes becomes 0")])
def test_finite_masks_and_a_softmax_that_hides_its_overflow_are_named(how, sentence):
    def careless(q, k, v, softmax_scale, mask):
        return softmax_without_care(how, q, k, v, softmax_scale, mask)

    found = ringcraft.verify(careless, simplify=False)
    assert found.cause is not None and found.cause.sentence.startswith(sentence), str(found)


def test_a_mistake_that_right_cases_would_show_is_not_named():
    def at_times_alone(q, k, v, problem):  # each rank attends to its own block, but only to very large scores
        if np.abs(q).max() * np.abs(k).max() < 100:
            return ringcraft.attention(q, k, v, softmax_scale=problem.softmax_scale)
        parts = [problem.positions(rank) for rank in range(problem.ranks)]
        return np.concatenate([ringcraft.attention(q[:, :, rows], k[:, :, rows], v[:, :, rows],
                                                   softmax_scale=problem.softmax_scale) for rows in parts if rows], 2)

    found = ringcraft.verify(at_times_alone, ranks=3, causal=False, windows=False, packed=False, dtype="float64",
                             simplify=False)
    assert found.wrong and len(found.wrong) < len(found.verdicts)
    assert not any(cause.id == "RF-own-only" for verdict in found.wrong for cause in verdict.causes), str(found)


def test_a_function_without_a_number_is_accused_of_nothing_particular():
    found = ringcraft.verify(lambda q, k, v, causal: np.full_like(q, np.nan), ranks=3, simplify=False)
    assert {cause.id for verdict in found.wrong for cause in verdict.causes} == {"NaN"}, str(found)
    assert "bfloat16" not in str(found)


def test_causes_below_are_spoken_of_only_if_there_are_some():
    found = ringcraft.verify(lambda q, k, v: (q * 0.3 + 0.1, q[..., 0] * 2), simplify=False)
    assert found.cause is None and any(verdict.causes for verdict in found.wrong) and not found.example.causes
    assert str(found).splitlines()[0].endswith("; no cause explains most of them")


def test_tensors_that_no_mistake_explains_are_named_once():
    def noise(q, k, v, dout):
        return q * 0.7 + 0.2, k * 0.3 - 0.1, v * 0.9 + 1

    case = ringcraft.Case(ringcraft.Problem(24, 2, 8))
    for out, names in ((lambda q, k, v: q * 0.3 + 0.1, "these numbers:"),
                       (lambda q, k, v: ringcraft.attention(q, k, v, softmax_scale=1.0), "the numbers of dq, dk, dv:")):
        text = ringcraft.verify(out, backward=noise, cases=[case], dtype="float64", simplify=False).wrong[0].text
        assert text.count("no known mistake") == 1 and f"no known mistake gives {names} go by" in text, text


def test_options_are_named_as_python_names_them():
    found = ringcraft.verify(lambda q, k, v: ringcraft.attention(q, k, v, causal=True), simplify=False, causal=False)
    assert found.cause is not None and found.cause.id == "flags-causal" and "causal is what was meant" in str(found)
    assert "--" not in str(found)
    with pytest.raises(ringcraft.Error) as refused:
        ringcraft.Problem(8, 1, 1, per_sequence=True)
    assert "cu_seqlens" in str(refused.value) and "--" not in str(refused.value)
    with pytest.raises(ringcraft.Error) as refused:
        ringcraft.Problem(8, 1, 1, ranks=0)
    assert "ranks: expected at least 1" in str(refused.value) and "--" not in str(refused.value)


def test_rows_in_another_order_are_told():
    found = verified("not put back in order", layout="zigzag", simplify=False)
    assert found.cause is not None and found.cause.id == "rows-layout", str(found)


def test_the_smallest_case_is_small_and_fails_again():
    found = verified("wrong label", cases=CASES[::4])
    small = found.smallest.case
    assert small.problem.seqlen <= 12 and small.problem.heads == 1 and small.problem.batch == 1
    again = eval(code_of(small), {"ringcraft": ringcraft})
    assert not verified("wrong label", cases=[again])
    assert code_of(small) in str(found)


def test_shards_are_judged_in_the_order_of_their_rank():
    def shards(q, k, v, problem):
        out, lse = Ring()(q, k, v, problem)
        rows = [problem.positions(rank) for rank in range(problem.ranks)]
        return [(out[:, :, own], lse[:, :, own]) for own in rows]

    assert ringcraft.verify(shards, ranks=4, layout="zigzag", results="shards", dtype="float64")
    cases = cases_for(replace(RING, ranks=4, layout="contiguous", multiple=8, packed=False), False)[:5]
    assert not ringcraft.verify(lambda q, k, v, problem: shards(q, k, v, problem)[::-1], ranks=4, layout="contiguous",
                                results="shards", dtype="float64", simplify=False, cases=cases)


def test_gradients_of_shards_come_in_the_same_order():
    def dealt(*tensors):
        return list(zip(*(ringcraft.scatter(x, 3, "contiguous") for x in tensors)))

    def forward(q, k, v, causal):
        return dealt(*ringcraft.attention(q, k, v, causal=causal, return_lse=True))

    def backward(q, k, v, dout, causal):
        saved = ringcraft.attention(q, k, v, causal=causal, return_lse=True)
        return dealt(*ringcraft.attention_backward(dout, q, k, v, *saved, causal=causal))

    options = dict(ranks=3, results="shards", layout="contiguous", simplify=False)
    assert str(ringcraft.verify(forward, backward=backward, **options)) == "forward: right in all 40 cases (out, lse, dq, dk, dv)"
    assert not ringcraft.verify(forward, backward=lambda *given, **told: backward(*given, **told)[::-1], **options)
    with pytest.raises(ringcraft.Error, match="backward: expected a list with 3 results, one for each rank, got ndarray"):
        ringcraft.verify(forward, backward=lambda q, k, v, dout: q, **options)


@pytest.mark.parametrize("axes", ["bhsd", "bshd", "shd"])
def test_axes(axes):
    def mine(q, k, v, causal, window, cu_seqlens, softmax_scale):
        return ringcraft.attention(q, k, v, causal=causal, window=window, cu_seqlens=cu_seqlens,
                                   softmax_scale=softmax_scale, axes=axes, return_lse=True)

    found = ringcraft.verify(mine, axes=axes)
    assert found, str(found)
    assert "shd" not in axes or axes != "shd" or all(v.case.problem.batch == 1 for v in found.verdicts)


def test_causal_has_to_mask_without_the_help_of_a_window():
    def ahead(q, k, v, causal, window):
        i, j = np.ogrid[:q.shape[2], :q.shape[2]]
        seen = j <= i + 1 if causal else np.full((len(i), len(i)), True)  # and here is the mistake
        seen = seen & ((window[0] < 0) | (j >= i - window[0])) & ((window[1] < 0) | (j <= i + window[1]))
        scores = np.where(seen, q @ k.swapaxes(2, 3) / np.sqrt(q.shape[3]), -np.inf)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True) @ v

    found = ringcraft.verify(ahead, grouped=False, dtype="float64", simplify=False)
    assert found.wrong and all(verdict.case.problem.mask == ringcraft.Mask(None, 0) for verdict in found.wrong), str(found)


def test_functions_are_asked_for_nothing_that_they_cannot_be_told():
    def full(q, k, v):
        return ringcraft.attention(q, k, v)

    def causal(q, k, v):
        return ringcraft.attention(q, k, v, causal=True)

    assert ringcraft.verify(full)
    assert not ringcraft.verify(causal)
    found = ringcraft.verify(causal, causal=True)
    assert found and {(v.case.problem.mask.left, v.case.problem.mask.right) for v in found.verdicts} == {(None, 0)}
    found = ringcraft.verify(full, multiple=8, grouped=False, batched=False, head_dims=[16])
    shapes = [v.case.problem for v in found.verdicts]
    assert found and all(p.seqlen % 8 == 0 and p.heads == p.kv_heads and p.batch == 1 and p.head_dim == 16
                         for p in shapes)


def test_an_exception_is_a_wrong_case():
    def broken(q, k, v):
        raise IndexError("off the end")

    found = ringcraft.verify(broken)
    assert not found and len(found.wrong) == len(found.verdicts)
    assert "it raised an exception" in str(found) and "off the end" in str(found)


def test_nothing_judged_is_not_right():
    found = ringcraft.verify(lambda q, k, v: q, cases=[])
    assert not found and "nothing was judged" in str(found)
    with pytest.raises(AssertionError, match="nothing was judged"):
        found.require()


def test_nan_is_wrong():
    found = ringcraft.verify(lambda q, k, v: np.full_like(q, np.nan), simplify=False)
    assert len(found.wrong) == len(found.verdicts)


def test_zeros_are_wrong():
    assert len(ringcraft.verify(lambda q, k, v: np.zeros_like(q), simplify=False).wrong) == 40


async def later(q, k, v):
    return usual(q, k, v)


def in_steps(q, k, v):
    yield usual(q, k, v)


@pytest.mark.parametrize(("call", "sentence"), [
    (lambda: ringcraft.verify(3), "verify: expected a function of q, k, v, got int"),
    (lambda: ringcraft.verify(len, arrays="tensorflow"), "arrays: expected one of numpy, torch, jax"),
    (lambda: ringcraft.verify(len, dtype="int8"), "dtype: expected one of float64"),
    (lambda: ringcraft.verify(lambda q, k, v: q, dtype="bfloat16"), "dtype: expected float64, float32 or float16 with NumPy"),
    (lambda: ringcraft.verify(len, results="shards"), "ranks: expected the number of ranks"),
    (lambda: ringcraft.verify(len, layout="zigzag"), "ranks: expected the number of ranks with layout=\"zigzag\", got None"),
    (lambda: ringcraft.verify(len, per_sequence=True), "ranks: expected the number of ranks with per_sequence=True"),
    (lambda: ringcraft.verify(lambda q, k, v: None), "result: expected out, .* got None"),
    (lambda: ringcraft.verify(lambda q, k, v: q.swapaxes(1, 2), axes="bshd"),
     r"out: expected \[batch, seqlen, heads, head_dim\] \[1, 1, 4, 8\], got \[1, 4, 1, 8\]"),
    (lambda: ringcraft.verify(lambda q, k, v: q[..., 0]), "result: expected 4 dimensions"),
    (lambda: ringcraft.verify(lambda q, k, v: q[:, :, :0]), r"out: expected \[batch, heads, seqlen, head_dim\]"),
    (lambda: ringcraft.verify(lambda q, k, v: q.astype(int)), "result: expected float64, float32"),
    (lambda: ringcraft.verify(lambda q, k, v: {"output": q}), "claim: expected the names out, lse, dq, dk and dv"),
    (lambda: ringcraft.verify(lambda q, k, v: {}), "claim: expected out, lse, dq, dk or dv, got no array"),
    (lambda: ringcraft.verify(lambda q, k, v: [q], ranks=3, results="shards"), "result: expected a list with 3 results"),
    (lambda: ringcraft.verify(lambda q, k, v: (q, q @ k.swapaxes(2, 3)), grouped=False),
     r"lse: expected 3 dimensions \(bhs\), got .*; if the second result is another one, such as the weights"),
    (lambda: ringcraft.verify(later), "got a coroutine; run it to its end with asyncio.run"),
    (lambda: ringcraft.verify(in_steps), "got a generator; return what it yields last"),
])
def test_what_makes_no_sense_is_refused(call, sentence):
    with pytest.raises(ringcraft.Error, match=sentence):
        call()


def usual(q, k, v):
    return ringcraft.attention(q, k, v)


def test_a_function_is_judged_by_what_it_was_asked():
    """It may write into its arrays: that neither hides what is wrong nor makes wrong what is right."""
    def all_zeros(q, k, v):
        for x in (q, k, v):
            x[:] = 0
        return np.zeros_like(q)

    def scaled_in_place(q, k, v, softmax_scale):
        q *= softmax_scale
        return ringcraft.attention(q, k, v, softmax_scale=1.0)

    found = ringcraft.verify(all_zeros, simplify=False)
    assert len(found.wrong) == 40
    assert str(found).splitlines()[1] == "it writes into k, q, v, which its caller may still need"
    found = ringcraft.verify(scaled_in_place)
    assert found and found.noticed.overwritten == {"q"}
    assert str(found).splitlines()[1:] == ["it writes into q, which its caller may still need"]
    assert not ringcraft.verify(usual).noticed.overwritten


def test_a_backward_function_that_writes_into_its_inputs_is_told():
    def backward(q, k, v, dout, causal):
        saved = ringcraft.attention(q, k, v, causal=causal, return_lse=True)
        gradients = ringcraft.attention_backward(dout, q, k, v, *saved, causal=causal)
        dout *= 2
        return gradients

    found = ringcraft.verify(lambda q, k, v, causal: ringcraft.attention(q, k, v, causal=causal), backward=backward)
    assert found and found.noticed.overwritten == {"dout"}


def test_what_was_judged_is_said():
    calls = []

    def lse_at_first(q, k, v):
        calls.append(None)
        out, lse = ringcraft.attention(q, k, v, return_lse=True)
        return out, lse if len(calls) < 8 else None

    assert str(ringcraft.verify(lse_at_first)) == "lse_at_first: right in all 40 cases (out, lse in 7)"
    assert str(ringcraft.verify(usual)) == "usual: right in all 40 cases (out)"
    found = ringcraft.verify(lambda q, k, v: usual(q, k, v).astype("float16"))
    assert found and "(out; returned as float16, which may be that far off)" in str(found)
    assert "returned as" not in str(ringcraft.verify(lambda q, k, v: usual(q, k, v).astype("float16"), dtype="float16"))
    assert ringcraft.verify(lambda q, k, v: {"lse": ringcraft.attention(q, k, v, return_lse=True)[1]})


@pytest.mark.parametrize("axes", ["sd", "hsd", "dsbh"])
def test_a_function_gets_the_axes_that_it_has(axes):
    found = ringcraft.verify(lambda q, k, v: ringcraft.attention(q, k, v, axes=axes), axes=axes)
    assert found and {v.case.problem.heads > 1 for v in found.verdicts} == ({True, False} if "h" in axes else {False})


def whole(q, k, v, scale, seen):
    """Attention over the pairs that are seen."""
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    scores = np.where(seen, scale * (q @ k.swapaxes(2, 3)), -np.inf)
    most = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(np.isfinite(most), most, 0))
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total > 0, total, 1) @ v


def test_axes_of_another_order_are_told():
    def sequence_first(q, k, v, causal):
        return ringcraft.attention(q, k, v, causal=causal, axes="bshd")

    found = ringcraft.verify(sequence_first, simplify=False, grouped=False)
    assert not found and 'right, in the case below, with axes="bshd"' in str(found), str(found)
    assert not ringcraft.verify(lambda q, k, v: usual(q, k, v) * 1.5, simplify=False).noticed.other_axes


def test_masks_of_which_only_the_problem_tells_may_be_ones_that_it_does_not_compute():
    def causal_ring(q, k, v, causal, softmax_scale, problem):
        out = ringcraft.attention(q, k, v, causal=causal, softmax_scale=softmax_scale)
        return [out[:, :, problem.positions(rank)] for rank in range(problem.ranks)]

    def verified(**options):
        return ringcraft.verify(causal_ring, ranks=3, results="shards", simplify=False, **options)

    hint = "if it computes none, say windows=False, packed=False"
    assert hint in str(verified())
    assert verified(windows=False, packed=False)
    assert hint not in str(ringcraft.verify(lambda q, k, v, causal, problem: q, simplify=False))


def test_two_ranks_tell_no_direction():
    def shards(q, k, v, causal):
        return ringcraft.scatter(ringcraft.attention(q, k, v, causal=causal), 2, "contiguous")

    assert "ask on 3, too" in str(ringcraft.verify(shards, ranks=2, results="shards"))


def test_packed_sequences_that_are_dealt_one_by_one():
    def shards(q, k, v, mask, softmax_scale, problem):
        out = whole(q, k, v, softmax_scale, mask)
        return [out[:, :, problem.positions(rank)] for rank in range(problem.ranks)]

    found = ringcraft.verify(shards, ranks=3, layout="zigzag", results="shards", per_sequence=True)
    assert found, str(found)
    assert any(verdict.case.problem.per_sequence for verdict in found.verdicts)


@pytest.mark.parametrize(("cause", "function"), [
    ("BL5-given", lambda q, k, v, mask, softmax_scale: whole(q, k, v, q.shape[-1] ** -0.5, mask)),
    ("CM-inverted", lambda q, k, v, mask, softmax_scale: whole(q, k, v, softmax_scale, ~mask)),
])
def test_settings_that_are_misread_are_told(cause, function):
    found = ringcraft.verify(function, simplify=False)
    assert found.cause is not None and found.cause.id == cause, str(found)


def zigzag(see):
    """A causal ring of zig-zag halves; see(early, queries, keys) is the mask of a block of another rank."""
    def ring(q, k, v, softmax_scale, problem):
        ranks, chunk = problem.ranks, q.shape[2] // (2 * problem.ranks)
        seen = np.zeros((q.shape[2], q.shape[2]), dtype=bool)
        for rank in range(ranks):
            rows = problem.positions(rank)
            seen[np.ix_(rows, rows)] = rows[:, None] >= rows
            for other in {*range(ranks)} - {rank}:
                early = other < rank
                queries = rows if early else rows[chunk:]
                keys = problem.positions(other)[:chunk] if early else problem.positions(other)
                seen[np.ix_(queries, keys)] = see(early, len(queries), len(keys))
        return whole(q, k, v, softmax_scale, seen)

    return ringcraft.verify(ring, ranks=4, layout="zigzag", causal=True, multiple=8, windows=False, packed=False, simplify=False)


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize("corner", ["top left", "bottom right"])
def test_triangles_that_a_zigzag_ring_keeps_are_told(early, corner):
    def see(is_early, queries, keys):
        shift = keys - queries if corner == "bottom right" else 0
        return np.tri(queries, keys, shift, dtype=bool) if is_early == early else np.ones((queries, keys), dtype=bool)

    assert zigzag(lambda is_early, queries, keys: True)
    found = zigzag(see)
    assert found.cause is not None and found.cause.id == "mask-causal-kept", str(found)
    assert ("earlier" if early else "later") in found.cause.sentence and (corner in found.cause.sentence) == (corner != "top left")


@pytest.mark.parametrize("base2", ["blocks", "merge"])
@pytest.mark.parametrize("with_lse", [True, False])
def test_blocks_whose_lse_has_another_base_are_told(base2, with_lse):
    def ring(q, k, v, softmax_scale, problem):
        parts = []
        for rank in range(problem.ranks):
            rows = problem.positions(rank)
            if len(rows):
                group = q.shape[1] // k.shape[1]
                scores = softmax_scale * (q @ np.repeat(k, group, 1)[:, :, rows].swapaxes(2, 3))
                lse = np.logaddexp.reduce(scores, axis=-1)
                out = np.exp(scores - lse[..., None]) @ np.repeat(v, group, 1)[:, :, rows]
                parts.append((out, lse / np.log(2) if base2 == "blocks" else lse))
        weights = np.stack([lse for _, lse in parts]).astype("float64") * (1 if base2 == "blocks" else np.log(2))
        total = np.logaddexp.reduce(weights)
        out = sum(np.exp(weight - total)[..., None] * part for weight, (part, _) in zip(weights, parts, strict=True))
        out, total = out.astype(q.dtype), (total if base2 == "blocks" else total / np.log(2)).astype(q.dtype)
        return (out, total) if with_lse else out

    found = ringcraft.verify(ring, ranks=4, causal=False, windows=False, packed=False, simplify=False)
    assert found.cause is not None and found.cause.id == "MG-base2", str(found)


def test_a_border_that_belongs_to_the_sequence_before_is_told():
    def packed(q, k, v, causal, cu_seqlens, softmax_scale):
        at = np.arange(q.shape[2])
        sequence = np.searchsorted(cu_seqlens or [0, len(at)], at)
        seen = (sequence[:, None] == sequence) & (at[:, None] >= at if causal else True)
        return whole(q, k, v, softmax_scale, seen)

    found = ringcraft.verify(packed, simplify=False)
    assert found.cause is not None and found.cause.id == "VL2" and "token 0 stands alone" in found.cause.sentence, str(found)


def test_the_cause_of_half_of_the_wrong_cases_is_shown_with_its_number():
    """Where packed sequences are looked up by local rows, full attention has another cause than causal attention."""
    def packed(q, k, v, causal, cu_seqlens, softmax_scale, problem):
        at, local = np.arange(q.shape[2]), np.zeros(q.shape[2], dtype=int)
        for rank in range(problem.ranks):
            local[problem.positions(rank)] = np.arange(problem.rows(rank))
        sequence = np.searchsorted(cu_seqlens or [0, len(at)], local, side="right")
        seen = (sequence[:, None] == sequence) & (at[:, None] >= at if causal else True)
        return whole(q, k, v, softmax_scale, seen)

    found = ringcraft.verify(packed, ranks=3, windows=False, simplify=False)
    assert found.cause is None
    number = int(str(found).splitlines()[0].rsplit(" ", 1)[1])
    assert "; no cause explains most of them: one of those below explains" in str(found) and number > 3
    assert "local row" in found.example.text and 2 * number <= len(found.wrong)


def case_of(heads, **extents):
    return ringcraft.Case(ringcraft.Problem(4, heads, 4, **extents))


def uneven(change):
    """Three ranks, the last of which returns something else."""
    def shards(q, k, v):
        both = ringcraft.attention(q, k, v, return_lse=True)
        *others, (out, lse) = zip(*(ringcraft.scatter(x, 3, "contiguous") for x in both))
        return [*others, change(out, lse)]

    return lambda: ringcraft.verify(shards, ranks=3, results="shards")


@pytest.mark.parametrize(("call", "sentence"), [
    (uneven(lambda out, lse: out), "result: expected the same tensors from every rank"),
    (uneven(lambda out, lse: {"out": out, "lse": lse, "dq": out}), "result: expected the same tensors from every rank"),
    (lambda: ringcraft.verify(usual, axes="q"), "axes: expected letters of bhsd"),
    (lambda: ringcraft.verify(usual, multiple=0), "multiple: expected a whole number from 1 to 4096, got 0"),
    (lambda: ringcraft.verify(usual, ranks=2.0), "ranks: expected a whole number from 1 to 256, got 2.0"),
    (lambda: ringcraft.verify(usual, ranks=100000), "ranks: expected a whole number from 1 to 256, got 100000"),
    (lambda: ringcraft.verify(usual, ranks=0), "ranks: expected a whole number from 1 to 256, got 0"),
    (lambda: ringcraft.verify(usual, head_dims=[0]), "head_dims: expected a whole number from 1 to 4096, got 0"),
    (lambda: ringcraft.verify(usual, ranks=2, cases=CASES[:1]), "cases: expected those that axes='bhsd' and ranks=2 allow"),
    (lambda: ringcraft.verify(usual, axes="sd", cases=[case_of(2)]), "cases: expected those that axes='sd'"),
    (lambda: ringcraft.verify(usual, axes="hsd", cases=[case_of(2, batch=2)]), "cases: expected those that axes='hsd'"),
])
def test_what_nobody_can_judge_is_refused(call, sentence):
    with pytest.raises(ringcraft.Error, match=sentence):
        call()


@pytest.mark.parametrize("change", [lambda out, lse: (out[:, :1], lse), lambda out, lse: (out[..., :1], lse)])
def test_a_result_that_fits_in_some_cases_is_wrong_in_the_others(change):
    found = uneven(change)()
    misfits = [verdict for verdict in found.wrong if verdict.misfit]
    assert misfits and not found and found.cause is None
    assert all("its result does not fit" in verdict.text and "out: expected the same shape on all ranks" in verdict.text
               for verdict in misfits)


def test_a_lost_tail_is_wrong_where_there_is_one_and_wrong_axes_are_refused():
    found = ringcraft.verify(lambda q, k, v: usual(q, k, v)[:, :, :q.shape[2] // 4 * 4], simplify=False)
    assert {verdict.case.problem.seqlen % 4 for verdict in found.wrong} == {1, 2, 3}
    assert all(verdict.right == (verdict.case.problem.seqlen % 4 == 0) for verdict in found.verdicts)
    with pytest.raises(ringcraft.Error, match=r"out: expected \[batch, heads, seqlen, head_dim\] .*; axes= and layout= say"):
        ringcraft.verify(lambda q, k, v: usual(q, k, v).swapaxes(1, 2))
