"""Which cases a function is asked, and how it is called."""
from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ringcraft import _core
from ringcraft._arrays import framework_of

SETTINGS = ("causal", "window", "cu_seqlens", "softmax_scale", "mask", "problem")


@dataclass(frozen=True)
class Abilities:
    """What a function can be asked."""
    settings: frozenset[str]       #: names that it takes besides q, k, v
    causal: bool | None = None     #: always, or never; None: as it is told
    windows: bool = False          #: sliding windows
    packed: bool = False           #: packed sequences
    scales: bool = False           #: another softmax_scale than 1 / sqrt(head_dim)
    grouped: bool = True           #: kv_heads < heads
    batched: bool = True           #: batch > 1
    headed: bool = True            #: heads > 1
    multiple: int = 1              #: seqlen, and each packed sequence, is a multiple of it
    head_dims: tuple[int, ...] | None = None  #: the only ones
    ranks: int | None = None       #: of a function that knows ranks
    layout: str = "contiguous"     #: of these
    per_sequence: bool = False     #: whether it deals each packed sequence to them by itself

    def supposed(self) -> tuple[str, ...]:
        """What no parameter of its own tells, only `mask` or `problem`: it may not compute it."""
        told_by = {"windows": "window", "packed": "cu_seqlens", "scales": "softmax_scale"}
        return tuple(need for need, setting in told_by.items() if getattr(self, need) and setting not in self.settings)


def settings_of(function: Callable[..., Any]) -> frozenset[str]:
    """The settings that a function takes by name; all with **keywords, if it names none."""
    try:
        parameters = signature_of(function).parameters.values()
    except (TypeError, ValueError):  # a builtin
        return frozenset()
    named = frozenset(p.name for p in parameters if p.name in SETTINGS and p.kind is not p.POSITIONAL_ONLY)
    return frozenset(SETTINGS) if not named and any(p.kind is p.VAR_KEYWORD for p in parameters) else named


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """How it is called: a module of PyTorch as its `forward` is."""
    is_module = framework_of(function) == "torch" and callable(getattr(function, "forward", None))
    return inspect.signature(getattr(function, "forward") if is_module else function)


def require_callable(function: Callable[..., Any], what: str, given: tuple[str, ...]) -> None:
    """Refuses a function that cannot be called with these arguments and the settings that its parameters name."""
    if not callable(function):
        raise _core.Error(f"{what}: expected a function of {', '.join(given)}, got {type(function).__name__}; "
                          "hand over the function itself, without calling it")
    try:
        signature = signature_of(function)
    except (TypeError, ValueError):  # a builtin
        return
    try:
        signature.bind(*given, **dict.fromkeys(settings_of(function)))
    except TypeError as error:
        raise _core.Error(f"{what}: expected a function of {', '.join(given)} and, by name, any of {', '.join(SETTINGS)}, "
                          f"got one of {signature} ({error}); rename its parameters, give the others a value, or wrap it in "
                          "one that does") from None


def needs_of(problem: _core.Problem) -> set[str]:
    """The Abilities that a function needs for this problem, besides causal: windows, packed, scales."""
    mask = problem.mask
    needs = (("windows", mask.left is not None or mask.right not in (None, 0)), ("packed", bool(mask.cu_seqlens)),
             ("scales", not has_usual_scale(problem)))
    return {name for name, needed in needs if needed}


def has_usual_scale(problem: _core.Problem) -> bool:
    """Whether softmax_scale is 1 / sqrt(head_dim)."""
    return abs(problem.softmax_scale * math.sqrt(problem.head_dim) - 1) < 1e-12


def fits(problem: _core.Problem, can: Abilities) -> bool:
    """Whether a function can be asked for the mask and the scale of a problem."""
    needs = needs_of(problem)
    if any(not getattr(can, need) for need in needs):
        return False
    return can.causal is None or (problem.mask.right == 0) == can.causal or ("windows" in needs and not can.causal)


def adapted(case: _core.Case, can: Abilities) -> _core.Case:
    """The case on the ranks, and with the lengths and heads, that the function takes."""
    p, factor = case.problem, can.multiple
    seqlen = -(-p.seqlen // factor) * factor
    borders = [border * factor for border in p.mask.cu_seqlens]
    if borders:
        seqlen = borders[-1]
    head_dim = p.head_dim if can.head_dims is None else min(can.head_dims, key=lambda d: abs(d - p.head_dim))
    heads = p.heads if can.headed else 1
    problem = _core.Problem(
        seqlen, heads, head_dim, kv_heads=min(p.kv_heads, heads) if can.grouped else heads,
        batch=p.batch if can.batched else 1,
        mask=_core.Mask(p.mask.left, p.mask.right, borders), ranks=can.ranks or 1,
        layout=can.layout, per_sequence=can.per_sequence and bool(borders),
        softmax_scale=None if has_usual_scale(p) else p.softmax_scale)
    return _core.Case(problem, case.data, case.seed)


def more_cases() -> list[_core.Case]:
    """What the table of the library, made for rings in memory, leaves out: other scales under every kind of mask, windows
    that are open on one side or wide on both, many heads, and what fills a second tile of 128."""
    def case(number: int, data: str, *shape: int, mask: tuple[int | None, int | None] = (None, None),
             borders: Sequence[int] = (), **values: Any) -> _core.Case:
        return _core.Case(_core.Problem(*shape, mask=_core.Mask(*mask, list(borders)), **values), data, 4000 + number)

    causal = (None, 0)
    return [
        case(0, "normal", 23, 4, 16, kv_heads=2, softmax_scale=0.4),
        case(1, "normal", 24, 2, 16, mask=causal, softmax_scale=0.11),
        case(2, "hot", 21, 2, 8, mask=(7, 2), softmax_scale=0.2),
        case(3, "normal", 26, 2, 8, mask=causal, borders=[0, 5, 26], softmax_scale=0.5),
        case(4, "normal", 40, 2, 8, mask=(6, None)),
        case(5, "normal", 41, 4, 8, kv_heads=2, mask=(None, 5)),
        case(6, "normal", 48, 2, 8, mask=(9, 6)),
        case(7, "negative", 37, 2, 8, mask=(4, 4)),
        case(8, "normal", 150, 2, 128, kv_heads=1, mask=causal),
        case(9, "normal", 160, 1, 128),
        case(10, "normal", 12, 16, 4, kv_heads=4, mask=causal),
        case(11, "normal", 11, 12, 4, batch=3),
    ]


def cases_for(can: Abilities, full: bool) -> list[_core.Case]:
    """The library's table of cases, as far as the function can be asked; the brief one has at most 40."""
    names: set[str] = set()
    cases = []
    for case in (*_core.case_table(True), *more_cases()):
        if not fits(case.problem, can):
            continue
        case = adapted(case, can)
        if case.name not in names:
            names.add(case.name)
            cases.append(case)
    return cases if full else typical(cases, 40)


def is_even(problem: _core.Problem) -> bool:
    """Whether all ranks have as many rows, in either half of them."""
    return problem.seqlen % (2 * problem.ranks) == 0


def typical(cases: list[_core.Case], most: int) -> list[_core.Case]:
    """At most so many of them, in their order: of every kind of mask as many, of full and causal ones twice as many; of
    these, every value of every axis as often as others."""
    def kind(case: _core.Case) -> tuple[bool, int | None, bool]:
        mask = case.problem.mask
        return mask.left is None, mask.right and 1, bool(mask.cu_seqlens)

    def values(case: _core.Case) -> list[tuple[str, Any]]:
        p = case.problem
        return [("data", case.data), ("group", p.heads // p.kv_heads), ("kv_heads", p.kv_heads > 1), ("width", p.head_dim),
                ("batch", p.batch), ("even", is_even(p)), ("length", p.seqlen.bit_length()),
                ("heads", p.heads.bit_length()), ("scale", has_usual_scale(p)),
                ("wide", min(p.mask.left or 0, p.mask.right or 0) > 2)]

    left = list(range(len(cases)))
    chosen: list[int] = []
    kinds, seen = Counter[tuple[bool, int | None, bool]](), Counter[tuple[str, Any]]()

    def need(i: int) -> tuple[float, int, int]:
        of_kind = kind(cases[i])
        share = 2 if of_kind in ((True, None, False), (True, 0, False)) else 1
        return kinds[of_kind] / share, sum(seen[value] for value in values(cases[i])), i

    while left and len(chosen) < most:
        best = min(left, key=need)
        left.remove(best)
        chosen.append(best)
        kinds[kind(cases[best])] += 1
        seen.update(values(cases[best]))
    return [cases[i] for i in sorted(chosen)]


def mask_matrix(problem: _core.Problem) -> np.ndarray:
    """[seqlen, seqlen]: whether the query of a row sees the key of a column."""
    seen = np.zeros((problem.seqlen, problem.seqlen), dtype=bool)
    for query in range(problem.seqlen):
        first, last = problem.keys_seen(query)
        seen[query, first:last] = True
    return seen


def settings_for(problem: _core.Problem, can: Abilities) -> dict[str, Any]:
    """The settings of a problem that the function takes, in the words of FlashAttention."""
    mask = problem.mask
    causal = mask.right == 0
    left, right = (-1 if limit is None else limit for limit in (mask.left, mask.right))
    if causal and left == -1 and "causal" in can.settings:
        right = -1  # no window: `causal` alone has to mask, where (-1, 0) would hide mistakes of its branch
    values: dict[str, Callable[[], Any]] = {
        "causal": lambda: causal,
        "window": lambda: (left, right),
        "cu_seqlens": lambda: list(mask.cu_seqlens) or None,
        "softmax_scale": lambda: problem.softmax_scale,
        "mask": lambda: mask_matrix(problem),
        "problem": lambda: problem,
    }
    return {name: make() for name, make in values.items() if name in can.settings}


def smaller(case: _core.Case, can: Abilities) -> Iterator[_core.Case]:
    """Cases that are simpler in one respect, the most telling ones first."""
    p = case.problem

    def changed(data: str | None = None, **values: Any) -> Iterator[_core.Case]:
        fields = {"seqlen": p.seqlen, "heads": p.heads, "head_dim": p.head_dim, "kv_heads": p.kv_heads,
                  "batch": p.batch, "mask": p.mask, "ranks": p.ranks, "layout": p.layout,
                  "softmax_scale": p.softmax_scale, "per_sequence": p.per_sequence, **values}
        fields["per_sequence"] = fields["per_sequence"] and bool(fields["mask"].cu_seqlens)
        try:
            other = _core.Case(_core.Problem(**fields), data or case.data, case.seed)
        except _core.Error:
            return
        if fits(other.problem, can):
            yield other

    if p.batch > 1:
        yield from changed(batch=1)
    if p.mask.cu_seqlens:
        yield from changed(mask=_core.Mask(p.mask.left, p.mask.right))
    if (p.mask.left, p.mask.right) not in ((None, None), (None, 0)):
        yield from changed(mask=_core.Mask(None, 0, p.mask.cu_seqlens))
    if p.mask.right is not None and can.causal is None and p.mask.left is None:
        yield from changed(mask=_core.Mask(None, None, p.mask.cu_seqlens))
    if case.data != "normal":
        yield from changed(data="normal")
    if p.heads > 1:
        yield from changed(heads=1, kv_heads=1)
        if p.kv_heads > 1:
            yield from changed(heads=p.heads // p.kv_heads, kv_heads=1)
    if not p.mask.cu_seqlens:
        for length in sorted({1, 2, 3, p.seqlen // 4, p.seqlen // 2, p.seqlen - 1}):
            length -= length % can.multiple
            if can.multiple <= length < p.seqlen:
                yield from changed(seqlen=length)
    if can.head_dims is None and p.head_dim > 1:
        yield from changed(head_dim=max(1, p.head_dim // 4), softmax_scale=None)


def code_of(case: _core.Case) -> str:
    """The case as Python."""
    p = case.problem
    parts = [str(p.seqlen), str(p.heads), str(p.head_dim)]
    if p.kv_heads != p.heads:
        parts.append(f"kv_heads={p.kv_heads}")
    if p.batch != 1:
        parts.append(f"batch={p.batch}")
    if (p.mask.left, p.mask.right) != (None, None) or p.mask.cu_seqlens:
        borders = f", {p.mask.cu_seqlens}" if p.mask.cu_seqlens else ""
        parts.append(f"mask=ringcraft.Mask({p.mask.left}, {p.mask.right}{borders})")
    if p.ranks > 1:
        parts.append(f'ranks={p.ranks}, layout="{p.layout}"' + (", per_sequence=True" if p.per_sequence else ""))
    if not has_usual_scale(p):
        parts.append(f"softmax_scale={p.softmax_scale!r}")
    return f'ringcraft.Case(ringcraft.Problem({", ".join(parts)}), data="{case.data}", seed={case.seed})'
