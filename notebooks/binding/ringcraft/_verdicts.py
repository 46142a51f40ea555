"""Verdicts on cases, and what they tell together."""
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ringcraft import _core
from ringcraft._cases import code_of, needs_of


SUPPOSED = {"windows": "a window", "packed": "packed sequences", "scales": "another softmax scale than 1 / sqrt(head_dim)"}
UNSTEADY = ("something in it is random (dropout?), is kept from one call to the next, is read before it was written, or "
            "races: no cause can be told from such numbers")


@dataclass(frozen=True)
class Cause:
    """A likely reason for an error."""
    id: str        #: the same mistake has the same id everywhere
    sentence: str  #: what the mistake is
    question: str  #: one that helps to find it
    guess: bool = False  #: by the size of the errors alone

    @property
    def general(self) -> bool:
        """Whether it says which numbers are wrong rather than by which mistake."""
        return _core.is_general(self.id)


@dataclass(frozen=True)
class Verdict:
    """The verdict on one case."""
    case: _core.Case
    right: bool
    text: str                     #: for people
    data: dict[str, Any] = field(default_factory=dict, repr=False)  #: for programs; empty if nothing could be judged
    misfit: str = ""              #: why its result cannot be judged, if it cannot
    narrowed: str = ""            #: the type of its results, if it is narrower than that of its inputs

    def __repr__(self) -> str:
        return f"<Verdict: {'right' if self.right else 'wrong'}, {self.case.name}{_named_causes(self.causes)}>"

    @property
    def causes(self) -> list[Cause]:
        """The likely causes, the likeliest first."""
        return [Cause(cause["id"], cause["sentence"], cause["question"], cause["guess"])
                for row in self.data.get("rows", []) for cause in row["causes"]]

    def is_wrong(self, tensor: str) -> bool:
        """Whether this tensor of the case is wrong."""
        return any(row["id"] == tensor and row["status"] == "failed" for row in self.data.get("rows", []))

    @property
    def has_numbers(self) -> bool:
        """Whether a row is wrong without being NaN or infinite."""
        return any("x" in signs for row in self.data.get("rows", []) for drawn in row["maps"] for signs in drawn["ranks"])


@dataclass
class Noticed:
    """What a function does besides, in any case, that its author should know."""
    overwritten: set[str] = field(default_factory=set)  #: the inputs into which it has written: callers may still need them
    detached: bool = False  #: its out leads back to no input, although gradients are asked for
    supposed: tuple[str, ...] = ()  #: what it is asked for, although no parameter of its own tells it: windows, packed, scales
    other_axes: str = ""    #: with these axes a wrong case is right

    def add(self, other: Noticed) -> None:
        """Adds what was noticed elsewhere."""
        self.overwritten |= other.overwritten
        self.detached |= other.detached
        self.supposed, self.other_axes = other.supposed or self.supposed, other.other_axes or self.other_axes


@dataclass(frozen=True)
class Verification:
    """The verdict on a function over all cases. True if every case is right, and there was at least one."""
    name: str
    verdicts: list[Verdict]
    smallest: Verdict | None = None  #: a wrong case that is as simple as could be found, with the same cause
    unsteady: Verdict | None = None  #: a wrong case that the function answered otherwise when it was asked again
    noticed: Noticed = field(default_factory=Noticed)

    @property
    def right(self) -> bool:
        """Whether every case is right, and there was at least one."""
        return bool(self.verdicts) and not self.wrong

    @property
    def wrong(self) -> list[Verdict]:
        """The verdicts on wrong cases."""
        return [verdict for verdict in self.verdicts if not verdict.right]

    @property
    def cause(self) -> Cause | None:
        """The cause that explains most of the wrong cases, more than half of them: one alone may fit others by chance.

        Cases without a wrong number that is a number count only if there are no others: NaN equals the NaN of many
        mistakes. A guess must explain all of them. Its sentence is that of the example. None if the function is unsteady:
        its numbers are no longer those of a mistake.
        """
        if self.unsteady:
            return None
        shared = self._shared()
        return next((cause for cause in self.example.causes if cause.id == shared), None) if self.example else None

    def _shared(self) -> str | None:
        """The id of the cause."""
        telling = [verdict for verdict in self.wrong if verdict.has_numbers] or self.wrong
        found = [cause for verdict in telling for cause in verdict.causes]
        counts = Counter(cause.id for verdict in telling for cause in {cause.id: cause for cause in verdict.causes}.values())
        known = [cause for cause in found
                 if counts[cause.id] == len(telling) or (counts[cause.id] * 2 > len(telling) and not cause.guess)]
        best = max(known, key=lambda cause: (not cause.general, counts[cause.id]), default=None)
        return best.id if best else None

    def agreeing(self) -> list[Verdict]:
        """The wrong cases that this cause explains."""
        shared = self._shared()
        return [verdict for verdict in self.wrong if shared in ids_of(verdict)]

    def _with_commonest(self) -> list[Verdict]:
        """The wrong cases with the mistake that most of them name, if it is half of them: fewer name one by chance."""
        counts = Counter(mistake for verdict in self.wrong for mistake in mistakes_in(verdict))
        common = max(counts, key=lambda mistake: counts[mistake], default=None)
        alike = [verdict for verdict in self.wrong if common in mistakes_in(verdict)]
        return alike if 2 * len(alike) >= len(self.wrong) else []

    @property
    def example(self) -> Verdict | None:
        """The wrong case that tells most: that cause, the fewest others, many tokens."""
        return min(self.agreeing() or self._with_commonest() or self.wrong, default=None,
                   key=lambda verdict: (not verdict.data, not verdict.has_numbers, len(verdict.causes),
                                        -verdict.case.problem.seqlen))

    def __bool__(self) -> bool:
        return self.right

    def __repr__(self) -> str:
        cause = _named_causes([self.cause] if self.cause else [])
        return f"<Verification: {self.name}, {len(self.wrong)} of {len(self.verdicts)} cases wrong{cause}>"

    def __str__(self) -> str:
        if not self.verdicts:
            return f"{self.name}: no case fits what it takes; nothing was judged"
        if self.right:
            return "\n".join([f"{self.name}: right in all {len(self.verdicts)} cases ({self._judged()})", *self.notes()])
        lines = [f"{self.name}: wrong in {len(self.wrong)} of {len(self.verdicts)} cases"]
        if self.unsteady is not None:
            return "\n".join([f"{lines[0]}; asked again, it answers the case below otherwise", UNSTEADY, *self.notes(), "",
                              self.unsteady.text.rstrip()])
        if self.cause is not None:
            lines[0] += f"; {len(self.agreeing())} of these have the cause below"
        elif any(verdict.causes for verdict in self.wrong):
            lines[0] += "; no cause explains most of them"
            if self.example is not None and self.example.causes:
                alike = len(self._with_commonest())
                lines[0] += f": one of those below explains {alike}" if alike else ", and those below may fit this case by chance"
        lines += self.notes()
        if self.example is not None:
            lines += ["", self.example.text.rstrip()]
        if self.smallest is not None:
            lines += ["", "A small wrong case:", f"    case = {code_of(self.smallest.case)}"]
        return "\n".join(lines)

    def notes(self) -> list[str]:
        """What else its author should know."""
        notes = []
        if self.noticed.overwritten:
            notes.append(f"it writes into {', '.join(sorted(self.noticed.overwritten))}, which its caller may still need")
        if self.noticed.detached:
            notes.append("no gradient leads from its out to q, k and v, so that none was judged (no_grad, detach, numpy()?); "
                         "gradients=False does not ask for any")
        if self.noticed.other_axes:
            notes.append(f'right, in the case below, with axes="{self.noticed.other_axes}": the axes of q, k and v are read in '
                         "another order than they are handed over in")
        if not self.right and any(verdict.right for verdict in self.verdicts):
            needs = [needs_of(verdict.case.problem) & set(self.noticed.supposed) for verdict in self.wrong]
            names = [name for name in self.noticed.supposed if any(name in need for need in needs)]
            if all(needs) and names:
                words = " or ".join(SUPPOSED[name] for name in names)
                masks = ", ".join(f"{name}=False" for name in names if name != "scales")
                notes.append(f"every wrong case has {words}, of which only mask or problem tells it"
                             + (f": if it computes none, say {masks}" if masks else ": problem.softmax_scale is that scale"))
        if self.right and self.verdicts[0].case.problem.ranks == 2:
            notes.append("on 2 ranks both ways round the ring are the same: ask on 3, too")
        return notes

    def _judged(self) -> str:
        """The tensors that were judged; in how many cases, if not in all; and as what, if not in the type of the inputs."""
        counts = Counter(name for verdict in self.verdicts for name in verdict.data["judged"])
        names = [name + ("" if count == len(self.verdicts) else f" in {count}") for name, count in counts.items()]
        types = sorted({verdict.narrowed for verdict in self.verdicts} - {""})
        return ", ".join(names) + (f"; returned as {' and '.join(types)}, which may be that far off" if types else "")

    def require(self) -> None:
        """Raises AssertionError with the text, unless all is right."""
        if not self.right:
            raise AssertionError(str(self))


def _named_causes(causes: Sequence[Cause]) -> str:
    return f"; {causes[0].sentence}" if causes else ""


def ids_of(verdict: Verdict) -> set[str]:
    """The ids of its causes."""
    return {cause.id for cause in verdict.causes}


def mistakes_in(verdict: Verdict) -> set[str]:
    """The ids of those that name a mistake."""
    return {cause.id for cause in verdict.causes if not cause.general}


def most_named(verdicts: Sequence[Verdict]) -> int:
    """The number of verdicts that name the mistake that most of them name."""
    return max(Counter(cause for verdict in verdicts for cause in mistakes_in(verdict)).values(), default=0)
