"""Tables and the figure of lesson 106."""
import math

import lesson_pages
from drawing import svg, text
from tables import number, table

DEMO = lesson_pages.demo(__file__)
BY_GRADIENT = lesson_pages.rows(DEMO, "largest error of       dq       dk       dv")
BY_STEP = lesson_pages.rows(DEMO, "largest error of dk, by h: right, and with the delta of a block")
# one query of 1, three keys, values of one column, a scale of ln 2, an upstream gradient of 1
KEYS, VALUES, SCALE = [1.0, 0.0, 0.0], [8.0, 0.0, 4.0], math.log(2)


def forward(query=1.0, keys=KEYS, values=VALUES):
    """P, out and lse of the example."""
    scores = [SCALE * query * k for k in keys]
    lse = max(scores) + math.log(sum(math.exp(s - max(scores)) for s in scores))
    weights = [math.exp(s - lse) for s in scores]
    return weights, sum(p * v for p, v in zip(weights, values)), lse


def slopes(of, h=1e-5):
    """Central differences of a function of the three keys."""
    def moved(j, step):
        return [k + step * (i == j) for i, k in enumerate(KEYS)]
    return [(of(moved(j, h)) - of(moved(j, -h))) / (2 * h) for j in range(3)]


def backward_example():
    weights, out, _ = forward()
    dp = VALUES  # dout is 1
    ds = [p * (x - out) for p, x in zip(weights, dp)]
    dk = [SCALE * x for x in ds]  # the query is 1
    assert abs(sum(ds)) < 1e-12
    assert all(abs(a - b) < 1e-8 for a, b in zip(dk, slopes(lambda keys: forward(keys=keys)[1])))
    n = lambda x: number(round(x, 9))
    rows = [[j, n(KEYS[j]), n(VALUES[j]), n(weights[j]), n(dp[j]), n(ds[j]), n(weights[j]), f"{n(ds[j])} ln 2"] for j in range(3)]
    dq = sum(d * k for d, k in zip(ds, KEYS))
    return (table(["key", "$k$", "$v$", "$P$", "$dP$", "$dS$", "$dv$", "$dk$"], rows) + f"""
with $\\mathrm{{out}} = {n(out)}$, $\\delta = 1 \\cdot {n(out)}$ and $dq = \\ln 2 \\cdot {n(dq)}$.
""")


def size(count):
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= unit:
            return f"{count / unit:g} {name}"
    return f"{count} B"


def backward_cost():
    stored, recomputed, forward_cost = 8, 10, 4  # S^2 d multiplications and additions
    extra = (recomputed + forward_cost) / (stored + forward_cost) - 1
    all_again = (recomputed + 2 * forward_cost) / (stored + forward_cost) - 1
    rows = [[f"{s:,}", size(4 * s * s), size(2 * 4 * s)] for s in (4096, 32768, 131072)]
    return (table(["tokens", "P stored, one head, float", "lse and delta"], rows) + f"""
In multiplications and additions: forward ${forward_cost} S^2 d$ (two products), backward ${stored} S^2 d$ with a stored P (four products) and
${recomputed} S^2 d$ without (five). Recomputing the scores makes forward and backward together {100 * extra:.0f} % longer in arithmetic, and the
memory linear. (Where the whole forward pass is run again as well, it is {100 * all_again:.0f} %.)
""")


def backward_fingerprints():
    names = {"delta_is_0": r"$\delta$ forgotten", "delta_of_a_block": r"$\delta$ from the out of one block",
             "lse_of_a_block": "lse of one block", "mask_forgotten": "mask forgotten in the recomputation"}
    rows = [[names[name]] + [f"{x:.3f}" if x else "right" for x in errors] for name, *errors in BY_GRADIENT if name in names]
    return table(["what is wrong", "dq", "dk", "dv"], rows)


def poisoned(tokens=16):
    """NaN rows of dq and NaN keys of dv when each row sees the keys before it, so row 0 none, and masked scores are -inf."""
    weights = []
    for i in range(tokens):
        lse = math.log(i) if i else -math.inf  # all scores are 0
        weights.append([math.exp((0.0 if j < i else -math.inf) - lse) for j in range(tokens)])
    dq = sum(math.isnan(sum(row)) for row in weights)
    dv = sum(math.isnan(sum(row[j] for row in weights)) for j in range(tokens))
    return dq, dv


def backward_mistakes():
    weights, out, lse = forward()
    m = max(SCALE * k for k in KEYS)
    l = math.exp(lse - m)
    dq, dv = poisoned()
    error = {name: errors for name, *errors in BY_GRADIENT}
    slope_of_lse = slopes(lambda keys: forward(keys=keys)[2])
    assert all(abs(a - SCALE * p) < 1e-8 for a, p in zip(slope_of_lse, weights))
    return table(["what is written", "what is true", "the number"], [
        [r"$\delta$ is computed for each block, from the out of the block.", "It is one number per row, over all of its keys. With one "
         "block the two agree, so small tests pass.", f"demo, causal, 6 tokens: dk is off by {error['delta_of_a_block'][1]:.3f}"],
        [r"$\delta$ is there to avoid counting twice.", "It is the derivative of the softmax's own denominator: it makes every row of $dS$ "
         "sum to 0.", f"example without it: $dS$ sums to {number(sum(p * v for p, v in zip(weights, VALUES)))}"],
        ["Save $l$ and call it lse; or save $m$.", r"lse is $m + \log l$. The test: rows of the recomputed $P$ sum to 1.",
         f"example: {math.exp(lse - l):.4f} with $l$ as lse, {math.exp(lse - m):g} with $m$"],
        ["dK needs no scale: Q is scaled already.", r"Only if Q was scaled in place, for good. As printed beside $s = \sigma Q K^T$ it lacks "
         r"$\sigma$.", f"head_dim 128: {math.sqrt(128):.1f} times too large"],
        ["A row without a key is harmless: its weights come out as 0.", r"$e^{-\infty - (-\infty)}$ is NaN, and dk and dv sum over rows: one "
         "such row poisons every key of its tiles.", f"one of 16 rows: {dq} row of dq is NaN, and {dv} of 16 keys of dk and dv"],
        ["Return lse to any caller; it has no gradient.", r"It has: $\partial \mathrm{lse}_i / \partial s_{ij} = P_{ij}$. A loss that uses lse "
         r"adds $P_{ij} d\mathrm{lse}_i$ to $dS_{ij}$; pass $\delta - d\mathrm{lse}$ as delta, and this lesson's function does it.",
         f"example: {', '.join(number(round(x / SCALE, 6)) for x in slope_of_lse)}, the weights themselves"],
        ["Backward costs twice the forward pass.", "With stored weights; recomputed, five products against two.", f"{10 / 4:g} times"],
    ])


def figure():
    left, top, width, height = 110, 40, 560, 250
    low, high = -8, 0  # powers of ten
    steps = [math.log2(h) for h, *_ in BY_STEP]
    x = lambda h: left + (max(steps) - math.log2(h)) / (max(steps) - min(steps)) * width
    y = lambda error: top + (high - math.log10(error)) / (high - low) * height
    body = []
    for power in range(low, high + 1, 2):
        body += [f'<path d="M{left} {y(10.0**power):g}h{width}" class="thin" opacity="0.4"/>',
                 text(left - 10, y(10.0**power) + 4, f"1e{power}" if power else "1", "small right")]
    for h, *_ in BY_STEP:
        body.append(text(x(h), top + height + 20, f"1/{round(1 / h)}", "small"))
    for column, colour, name in ((1, "#2a7fb8", "right: a quarter of the error for half of h"), (2, "#d1495b", "delta of a block: no h helps")):
        points = [(x(row[0]), y(row[column])) for row in BY_STEP]
        body.append('<path d="M' + " L".join(f"{a:.1f} {b:.1f}" for a, b in points) + f'" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        body += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="4" fill="{colour}"/>' for a, b in points]
        a, b = points[3]
        body.append(text(a + 18, b - 14 if column == 1 else b + 24, name, "left bold"))
    body += [text(left + width / 2, top + height + 44, "step h of the finite difference", "small"),
             text(left + width / 2, 22, "largest difference between dk and the slope of the loss", "bold")]
    return svg(740, 345, "Error of dk against finite differences, for halved steps: right, and with a wrong delta", body)


COMPUTED = {f.__name__: f for f in (backward_example, backward_cost, backward_fingerprints, backward_mistakes)}
FIGURES = {"finite_differences": figure}
