"""The judge of a function: the verdict on each case, and what cases tell of each other."""
from __future__ import annotations

import json
import warnings
from collections.abc import Collection, Sequence
from contextlib import suppress

import numpy as np

from ringcraft import _core
from ringcraft._arrays import Array, like, numbers, transposed
from ringcraft._calls import GRADIENTS, TYPES, Answer, Caller, Misfit, Raised
from ringcraft._cases import is_even, smaller
from ringcraft._ending import kept_running
from ringcraft._verdicts import Cause, Verdict, ids_of, mistakes_in, most_named

MOST_ASKED = 6   #: cases of a kind, plain ones, that rule a mistake out together
MOST_WORK = 1e9  #: multiplications of attention in a case that is asked for what it rules out
Kind = tuple[bool | None, ...]


def kind_of(case: _core.Case) -> Kind:
    """What code may branch on: on either side no limit, 0 or another; packed sequences; grouped heads."""
    problem = case.problem
    left, right = (limit if limit is None else limit > 0 for limit in (problem.mask.left, problem.mask.right))
    return left, right, bool(problem.mask.cu_seqlens), problem.heads != problem.kv_heads


def is_small(case: _core.Case) -> bool:
    """Whether all known mistakes can be computed for it in seconds."""
    p = case.problem
    return p.batch * p.heads * p.seqlen ** 2 * p.head_dim <= MOST_WORK


#: By type, the share of the largest number of a tensor that is no matter of rounding when a case is asked again.
OTHERWISE = {"float64": 1e-9, "float32": 1e-3, "float16": 0.1, "bfloat16": 0.1}


class Judge:
    """Asks a function cases and judges its answers."""

    def __init__(self, caller: Caller, tf32: bool) -> None:
        self.caller, self.tf32 = caller, tf32
        # What cases tell of wrong ones of their kind: which mistakes it is not, and, since it is none that shows in the
        # right ones, which it may be where a wrong one has no number at all.
        self.refuted: set[tuple[str, Kind]] = set()
        self.right: set[Kind] = set()
        self.wrong: dict[_core.Case, Answer] = {}  # the first of each case: another may be right
        self.derived: set[_core.Case] = set()  # whose gradients are the derivative of a wrong out

    def __call__(self, case: _core.Case) -> Verdict:
        try:
            answer = self._asked(case)
            differentiates = self._may_differentiate(answer)
            verdict = self._judged(case, answer, causes=not differentiates)
        except Raised as raised:
            return Verdict(case, False, f"{case.name}: it raised an exception\n{raised}")
        except Misfit as misfit:
            return Verdict(case, False, f"{case.name}: its result does not fit\n{misfit}", misfit=str(misfit))
        if verdict.right:
            return verdict
        self.wrong.setdefault(case, answer.copy())
        if not differentiates:
            return verdict
        if verdict.is_wrong("out") and any(map(verdict.is_wrong, GRADIENTS)) and self._is_derivative(case):
            self.derived.add(case)
        return self._judged(case, answer)

    def _again(self, verdict: Verdict) -> Verdict:
        """The verdict on the same answer, after more has been ruled out."""
        answer = self.wrong.get(verdict.case)
        return verdict if verdict.right or answer is None else self._judged(verdict.case, answer)

    def _judged(self, case: _core.Case, answer: Answer, causes: bool = True) -> Verdict:
        claim, dtype = answer.claim, answer.dtype
        asked = {name: np.ascontiguousarray(transposed(numbers(array)[0], self.caller.axes, "bhsd"))
                 for name, array in self.caller.inputs(case).items()}  # made anew: a function may write into what it got
        if len({array.dtype for array in (*asked.values(), *claim.values())}) > 1 and dtype == "float64":
            asked = {name: array.astype(np.float64) for name, array in asked.items()}
        dout = asked["dout"] if any(name in claim for name in GRADIENTS) else None
        right, text, data = self.caller.once(lambda: _core.judge(
            case.problem, asked["q"], asked["k"], asked["v"], dout, claim,
            known_ranks=self.caller.can.ranks is not None, dtype=dtype, tf32=self.tf32,
            sequence_order=not self.caller.shards, title=case.name,
            refuted=[cause for cause, kind in self.refuted if kind == kind_of(case)],
            no_numbers_tell=kind_of(case) in self.right, lse_dtype=answer.lse_dtype, causes=causes,
            derived=case in self.derived))
        narrowed = dtype if TYPES.index(dtype) < TYPES.index(self.caller.dtype) else ""
        return Verdict(case, right, text, json.loads(data), narrowed=narrowed)

    def _asked(self, case: _core.Case, given: dict[str, Array] | None = None) -> Answer:
        with kept_running():
            tensors = self.caller.call(case, self.caller.inputs(case) if given is None else given)
            return self.caller.claim(case, tensors)

    def _may_differentiate(self, answer: Answer) -> bool:
        """Whether the function has answered gradients that differences in float64 may be compared with."""
        types = ("float64",) if self.caller.shared else ("float32", "float64")
        return self.caller.dtype in types and not answer.claim.keys().isdisjoint(GRADIENTS)

    def _is_derivative(self, case: _core.Case) -> bool:
        """Whether the gradients are the derivative of out, by differences in float64: then only forward is wrong."""
        caller, dtype = self.caller, self.caller.dtype
        caller.dtype = "float64"
        try:
            with suppress(Raised, Misfit, _core.Error):
                claim = self._asked(case).claim
                return all(self._agrees(case, claim, of) for of in ("q", "k", "v") if f"d{of}" in claim)
        finally:
            caller.dtype = dtype
        return False

    def _agrees(self, case: _core.Case, claim: dict[str, np.ndarray], of: str) -> bool:
        """Whether the gradient of this input is the change of <out, dout> in a random direction."""
        given = self.caller.inputs(case)
        at = numbers(given[of])[0]
        to = np.random.default_rng(case.seed).standard_normal(at.shape)
        dout, step = transposed(numbers(given["dout"])[0], self.caller.axes, "bhsd"), 1e-6 * max(1.0, float(np.abs(at).max()))

        def moved(by: float) -> float:
            out = self._asked(case, {**given, of: like(at + by * to, given[of])}).claim["out"]
            return float((out * dout).sum())

        terms = claim[f"d{of}"] * transposed(to, self.caller.axes, "bhsd")
        change = (moved(step) - moved(-step)) / (2 * step)
        return bool(abs(change - terms.sum()) <= 1e-4 * np.abs(terms).sum())

    def unsteady(self, verdict: Verdict) -> Verdict | None:
        """The same wrong case without causes, if the function answers it otherwise when it is asked again."""
        before = self.wrong.get(verdict.case)
        for _ in range(2):  # it may change at every second call
            try:
                after: Answer | None = self._asked(verdict.case)
            except (Raised, Misfit):
                after = None
            if before is None and after is not None:  # an exception, or what did not fit, has gone
                return verdict
            if before is not None and (after is None or not _same(before, after)):
                return self._judged(verdict.case, before, causes=False)
        return None

    def look_for_other_axes(self, case: _core.Case) -> None:
        """Notes whether the function is right if heads and sequence trade places in what it gets and returns."""
        caller, axes = self.caller, self.caller.axes
        if caller.shared:
            return
        caller.axes = axes.translate(str.maketrans("hs", "sh"))
        with suppress(Raised, Misfit, _core.Error), warnings.catch_warnings(action="ignore"):
            if self._judged(case, self._asked(case), causes=False).right:
                caller.noticed.other_axes = caller.axes
        caller.axes = axes

    def compared(self, verdicts: list[Verdict]) -> list[Verdict]:
        """The same, after all cases have ruled out mistakes of the wrong ones of their kind."""
        self.right = {kind_of(verdict.case) for verdict in verdicts if verdict.right}
        verdicts = [self._again(verdict) if self._may_tell_more(verdict) else verdict for verdict in verdicts]
        for kind in dict.fromkeys(kind_of(verdict.case) for verdict in verdicts):  # no set: all ranks share this order
            verdicts = self._without(self._refuted_by_right(_of(kind, verdicts)), kind, verdicts)
            for cause in sorted(self._refuted_by_wrong(_of(kind, verdicts))):
                others = self._without({cause}, kind, verdicts)
                if most_named(others) > sum(cause in ids_of(verdict) for verdict in verdicts):
                    verdicts = others
                else:  # nothing explains as many cases
                    self.refuted.remove((cause, kind))
        return verdicts

    def _without(self, causes: Collection[str], kind: Kind, verdicts: list[Verdict]) -> list[Verdict]:
        """The verdicts, after these causes have been ruled out for cases of this kind."""
        self.refuted |= {(cause, kind) for cause in causes}
        return [self._again(verdict) if kind_of(verdict.case) == kind and not ids_of(verdict).isdisjoint(causes)
                else verdict for verdict in verdicts]

    def _may_tell_more(self, verdict: Verdict) -> bool:
        return not verdict.right and not verdict.has_numbers and kind_of(verdict.case) in self.right

    def _refuted_by_right(self, alike: Sequence[Verdict]) -> set[str]:
        """The mistakes named that would show in several of the right cases, in every one that is asked."""
        right = [verdict.case for verdict in alike if verdict.right and verdict.case.data == "normal"
                 and verdict.case.problem.seqlen > verdict.case.problem.ranks and is_small(verdict.case)][:MOST_ASKED]
        causes = set[str]().union(*(mistakes_in(verdict) for verdict in alike)) if len(right) > 1 else set()
        for case in right:
            causes = self._refuted(case, causes)
        return causes

    def _refuted_by_wrong(self, alike: Sequence[Verdict]) -> set[str]:
        """The mistakes of some wrong cases that others refute, which have one that nothing refutes in the former."""
        named = [(verdict.case, mistakes_in(verdict)) for verdict in alike
                 if verdict.has_numbers and mistakes_in(verdict) and is_small(verdict.case)]
        causes = set[str]().union(*(mistakes for _, mistakes in named))
        if all(mistakes == causes for _, mistakes in named):
            return set()
        asked = []
        for case, mistakes in named[:2 * MOST_ASKED]:
            asked.append((mistakes, self._refuted(case, causes, self.wrong[case]), is_even(case.problem)))

        def of(cause: str) -> list[set[str]]:
            """What is refuted by each case that names it."""
            return [refuted for mistakes, refuted, _ in asked if cause in mistakes]

        return {cause for cause in causes if any(cause not in refuted for refuted in of(cause)) and any(
            cause in refuted and cause not in mistakes and any(other not in set[str]().union(*of(cause)) for other in mistakes)
            for mistakes, refuted, even in asked if even)}  # where shards differ, code may fail in a way of its own

    def _refuted(self, case: _core.Case, causes: Collection[str], answer: Answer | None = None) -> set[str]:
        """Those of these causes whose mistakes give other numbers than this answer; without one, than attention."""
        if not causes:
            return set()
        given = case.inputs(self.caller.dtype == "float64")
        return set(_core.refuted_mistakes(
            case.problem, given["q"], given["k"], given["v"], given["dout"] if self.caller.gradients else None,
            answer.claim if answer else {}, sorted(causes), answer.dtype if answer else self.caller.dtype))

    def simplest(self, verdict: Verdict, cause: Cause | None) -> Verdict:
        """A wrong case with this cause that is as simple as could be found from this one."""
        def alike(other: Verdict) -> bool:
            return not other.right and bool(other.data) == bool(verdict.data) and (
                cause is None or cause.id in ids_of(other))
        for _ in range(20):
            for case in smaller(verdict.case, self.caller.can):
                try:
                    other = self(case)
                except _core.Error:
                    continue
                if alike(other):
                    verdict = other
                    break
            else:
                break
        return verdict


def _of(kind: Kind, verdicts: Sequence[Verdict]) -> list[Verdict]:
    return [verdict for verdict in verdicts if kind_of(verdict.case) == kind]


def _same(before: Answer, after: Answer) -> bool:
    """Whether two answers to a case differ by no more than the order of sums can make."""
    if before.claim.keys() != after.claim.keys():
        return False
    for name, one in before.claim.items():
        two = after.claim[name]
        if one.shape != two.shape or not np.array_equal(np.isfinite(one), np.isfinite(two)):
            return False
        numbers = np.isfinite(one)
        most = OTHERWISE[before.dtype] * np.abs(one[numbers]).max(initial=0)
        if not (np.abs(one[numbers] - two[numbers]) <= most).all():
            return False
    return True
