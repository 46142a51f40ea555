"""Tables and the figure of lesson 104."""
import math
import random

import layouts
from drawing import box, svg, text
from lesson_pages import demo, rows
from tables import fraction, number, table

DEMO = demo(__file__)
SCORES = {"A": [1, 3, 0, 2], "B": [5, 2, 4, 1]}  # in units of ln 2
VALUES = {"A": [4, 1, 8, 2], "B": [6, 0, 4, -16]}
NOTHING = (-math.inf, 0.0, 0.0)  # (m, l, O), the identity
RANKS, TOKENS = 4, 16


def exponential(x):
    return x if math.isnan(x) else math.exp(x)


def partial(scores, values):
    """(m, l, O) of some keys, values of one column."""
    if not scores:
        return NOTHING
    m = max(scores)
    weights = [math.exp(s - m) for s in scores]
    return m, sum(weights), sum(w * v for w, v in zip(weights, values))


def merge(a, b, guarded=True):
    m = max(a[0], b[0])
    shift = 0.0 if guarded and m == -math.inf else m
    wa, wb = exponential(a[0] - shift), exponential(b[0] - shift)
    return m, wa * a[1] + wb * b[1], wa * a[2] + wb * b[2]


def half(side):
    return partial([s * math.log(2) for s in SCORES[side]], VALUES[side])


def merge_example():
    lines = []
    for side in "AB":
        top = max(SCORES[side])
        weights = ", ".join(fraction(2.0 ** (s - top)) for s in SCORES[side])
        m, l, o = half(side)
        lines.append([f"${side}$", ", ".join(map(str, SCORES[side])), ", ".join(map(str, VALUES[side])), top, weights,
                     number(round(l, 9)), number(round(o, 9))])
    (ma, la, oa), (mb, lb, ob) = half("A"), half("B")
    m, l, o = merge(half("A"), half("B"))
    whole = partial([s * math.log(2) for s in SCORES["A"] + SCORES["B"]], VALUES["A"] + VALUES["B"])
    assert max(abs(x - y) for x, y in zip((m, l, o), whole)) < 1e-14
    printed = {name: state for name, *state in rows(DEMO, "state    m/ln2        l        O    O / l      lse")}
    for name, state in (("A", half("A")), ("B", half("B")), ("A+B", (m, l, o))):
        assert all(abs(x - y) < 1e-4 for x, y in zip(printed[name], (state[0] / math.log(2), *state[1:])))
    wa, wb = math.exp(ma - m), math.exp(mb - m)
    n = lambda x: number(round(x, 9))
    head = ["half", r"scores / $\ln 2$", "values", r"$m / \ln 2$", "weights", "$l$", "$O$"]
    return (table(head, lines) + f"""
$A$ counts in units of $2^{{{max(SCORES['A'])}}}$, $B$ in units of $2^{{{max(SCORES['B'])}}}$. The larger maximum wins, so $A$ is changed
into $B$'s currency:

```math
\\begin{{aligned}}
m &= {round(m / math.log(2))} \\ln 2, \\qquad w_A = 2^{{{round((ma - m) / math.log(2))}}} = \\tfrac{{1}}{{{round(1 / wa)}}}, \\qquad w_B = {n(wb)} \\\\
l &= \\tfrac{{1}}{{{round(1 / wa)}}} \\cdot {n(la)} + {n(lb)} = {n(l)} \\\\
O &= \\tfrac{{1}}{{{round(1 / wa)}}} \\cdot {n(oa)} + {n(ob)} = {n(o)}
\\end{{aligned}}
```

and, when all keys have been seen, $\\mathrm{{out}} = O / l = {o / l:.4f}$ and $\\mathrm{{lse}} = m + \\log l = {m + math.log(l):.4f}$. Attention
over all eight keys at once gives the same numbers.
""")


def nan_rows(first_step):
    """Rows that become NaN in a causal ring of contiguous shards that merges without the guard and whose ranks meet
    their blocks from this step on."""
    stream = random.Random(1)
    scores = [[stream.gauss(0, 1) for _ in range(TOKENS)] for _ in range(TOKENS)]
    shard = TOKENS // RANKS
    count = 0
    for query in range(TOKENS):
        state = NOTHING
        for step in range(first_step, first_step + RANKS):
            block = layouts.source(query // shard, step, RANKS)
            keys = [k for k in range(block * shard, (block + 1) * shard) if k <= query]
            state = merge(state, partial([scores[query][k] for k in keys], [1.0] * len(keys)), guarded=False)
        count += math.isnan(state[1])
    return count


def smallest_sum(rows):
    stream = random.Random(2)
    smallest = math.inf
    for _ in range(rows):
        spread = stream.choice([0.1, 1, 10, 1000])
        scores = [stream.gauss(0, spread) for _ in range(stream.randint(1, 100))]
        smallest = min(smallest, partial(scores, scores)[1])
    return smallest


def merge_mistakes():
    a, b = half("A"), half("B")
    out = lambda m, l, o: f"{o / l:.4f}"
    largest_float = math.log(3.4028234663852886e38)
    smallest_float = math.log(2.0**-150)
    return table(["what is written", "what is true", "the number"], [
        ["Average the outputs of the parts.", "A part with small scores deserves a small weight.",
         f"{(a[2] / a[1] + b[2] / b[1]) / 2:.4f} instead of {out(*merge(a, b))}"],
        ["Add the $O$ and add the $l$.", "They are in different currencies.",
         f"{(a[2] + b[2]) / (a[1] + b[1]):.4f} instead of {out(*merge(a, b))}"],
        ["One more step does no harm.", "A block merged twice counts twice (here $A$).",
         f"{out(*merge(a, merge(a, b)))} instead of {out(*merge(a, b))}"],
        [r"Merge with the weights $e^{\mathrm{lse}}$.", "Without a shift they overflow or vanish, and the quotient is NaN.",
         f"in float: lse above {largest_float:.1f} or below {smallest_float:.1f}"],
        ["The formula holds as it stands.", "Two empty sides give $-\\infty - (-\\infty)$, NaN from then on. A ring that begins with "
         "its own block never meets two empty sides; one that begins with its neighbour's does.",
         f"causal, {TOKENS} tokens on {RANKS} ranks: {nan_rows(0)} NaN rows against {nan_rows(1)}"],
        ["Clamp $l$ to at least $10^{-6}$, against empty rows.", "For a row with a key it does nothing: the maximum itself contributes 1 to $l$. Without the guard of the merge "
         "an empty row's $l$ is NaN already, and most clamps let a NaN pass.", f"smallest $l$ of {20000} random rows: {smallest_sum(20000):g}"],
        ["Begin with $m = -10^4$ instead of $-\\infty$.", "Then a row of lower scores has no weight left, and $0 / 0$ is NaN.",
         f"in float: from {-1e4 + smallest_float:.0f} down"],
    ])


def bars(x, y, heights, labels, scale, colours):
    body = []
    for i, (height, label) in enumerate(zip(heights, labels)):
        left = x + i * 30 + (10 if i >= 4 else 0)
        body += [box(left, y - height * scale, 24, height * scale, colours[i], 2), text(left + 12, y + 16, label, "small")]
    return body + [f'<path d="M{x - 6} {y}H{x + 252}" class="thin"/>']


def figure():
    _, scores, own, merged = zip(*rows(DEMO, "key  score/ln2  weight_in_its_half  weight_after_merge"))
    label = lambda weights: [fraction(w) for w in weights]
    colours, body = ["c0"] * 4 + ["c1"] * 4, []
    panels = [("scores, in units of ln 2", scores, scores, 110 / max(scores)),
              ("weights, each half by its own maximum", own, label(own), 110),
              ("weights after the merge", merged, label(merged), 110)]
    for i, (title, heights, labels, scale) in enumerate(panels):
        x = 24 + 296 * i
        body += [text(x + 123, 22, title)] + bars(x, 150, heights, labels, scale, colours)
        body += [text(x + 57, 190, "A", "bold"), text(x + 187, 190, "B", "bold")]
    factor = fraction(2.0 ** (max(SCORES["A"]) - max(scores)))
    body.append(text(24 + 296 * 2 + 57, 208, f"all times {factor}", "small"))
    return svg(880, 216, "Two halves of four keys: scores, weights of each half, weights after the merge", body)


COMPUTED = {"merge_example": merge_example, "merge_mistakes": merge_mistakes}
FIGURES = {"merge": figure}
