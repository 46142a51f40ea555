"""Tables and the figure of lesson 103."""
import math

from drawing import box, svg, text
from lesson_pages import demo, rows
from tables import fraction, number, table

DEMO = demo(__file__)
LN2 = math.log(2)


def steps():
    """(score, m, factor, l) after each score; scores and m in units of ln 2, as the library's scan printed them."""
    return rows(DEMO, "score/ln2 m/ln2 factor       l")


def scores():
    return [step[0] for step in steps()]


def scan(row, rescale=lambda old, new: 2.0 ** (old - new)):
    """The recursion, with powers of two instead of exponentials. Returns (m, l) after each score."""
    m, l, states = -math.inf, 0.0, []
    for s in row:
        grown = max(m, s)
        l = l * (0.0 if m == -math.inf else rescale(m, grown)) + 2.0 ** (s - grown)
        m = grown
        states.append((m, l))
    return states


def online_example():
    lines = []
    for step, (m, l) in zip(steps(), scan(scores())):
        score, shown, factor, printed = step
        assert shown == m and abs(printed - l) < 1e-5
        old = lines[-1][-1] if lines else "0"
        sum_ = f"{old} + {fraction(2.0 ** (score - m))}" if factor == 1 else f"{old} $\\cdot$ {fraction(factor) if factor else 0} + 1"
        lines.append([score, m, "" if factor == 1 else fraction(factor) if factor else "$e^{-\\infty} = 0$", sum_, number(l)])
    return table([r"score / $\ln 2$", r"$m / \ln 2$", "factor", "$l$ computed as", "$l$"], lines)


def carried():
    """Counts of the demo: (scores, carried as, products, divisions, rounding)."""
    return rows(DEMO, "scores  O_is products/key divisions/key rounding")


def online_forms():
    names = {"sum": "a sum, divided at the end", "mean": "a mean, divided at every key"}
    kinds = {"up/down": "up and down", "rising": "each above the last"}
    return table(["scores", "$O$ is", "products per key, for one column", "divisions per key", "rounding"],
                 [[kinds[kind], names[form], f"{products:g}", f"{divisions:g}", f"{rounding:.0e}"]
                  for kind, form, products, divisions, rounding in carried()])


def online_mistakes():
    row = scores()
    m, l = scan(row)[-1]
    forgotten, inverted = scan(row, lambda old, new: 1.0)[-1][1], scan(row, lambda old, new: 2.0 ** (new - old))[-1][1]
    on_the_way = sum(2.0 ** (s - top) / total for s, (top, total) in zip(row, scan(row)))
    lse = m * LN2 + math.log(l)
    rounding = {(kind, form): value for kind, form, _, _, value in carried()}
    return table(["what is written", "what is true", "the number"], [
        ["Online softmax needs one scan.", "One scan for $(m, l)$; the weights need a second. Weights written on the way are divided by a sum that is "
         "not yet complete.", f"the eight weights would add up to {on_the_way:.4f} instead of 1"],
        ["`m = max(m, s)`, then `l = l * exp(m - m_new) + ...`", "Once $m$ has moved, the factor is $e^{m - m} = 1$. Compute it before.",
         f"$l$ = {number(forgotten)} instead of {number(l)}"],
        ["The factor is $e^{m_{\\mathrm{new}} - m_{\\mathrm{old}}}$.", "Old terms become smaller, not larger, and the wrong factor overflows.",
         f"$l$ = {number(inverted)} instead of {number(l)}"],
        ["Begin with the maximum and the sum of the first block.", "That is only right if the row sees a key of it; else $-\\infty - (-\\infty)$. Begin with "
         "$(-\\infty, 0)$.", "NaN from the first block on"],
        ["The running sum is the row's lse.", "lse is $m + \\log l$. Divide $e^{s-m}$ by $l$, or take $e^{s-\\mathrm{lse}}$; do not mix the two.",
         f"$e^{{s-m}}$ divided by lse = {lse:.4f} adds up to {l / lse:.4f}"],
        ["Dividing $O$ at every step keeps it exact.", "Both forms round alike; the division costs time.",
         f"rounding {rounding['up/down', 'sum']:.0e} and {rounding['up/down', 'mean']:.0e}, {rounding['rising', 'sum']:.0e} and {rounding['rising', 'mean']:.0e}"],
    ])


def figure():
    """Scores with the running maximum above, the running sum below."""
    left, width, body = 130, 80, []
    base, unit = 170, 26
    body += [text(left - 14, base - 4, "scores and", "small right"), text(left - 14, base + 12, "running maximum", "small right")]
    states, previous = steps(), None
    for i, (score, m, _, _) in enumerate(states):
        x = left + i * width
        body += [box(x + 16, base - score * unit, width - 32, score * unit, "c0", 2), text(x + width / 2, base + 18, score, "small")]
        path = f"M{x} {base - m * unit}" if previous is None else f"M{x} {base - previous * unit}V{base - m * unit}"
        body.append(f'<path d="{path}H{x + width}" class="line"/>')
        previous = m
    body.append(f'<path d="M{left} {base}H{left + 8 * width}" class="thin"/>')
    base, unit = 330, 45
    body += [text(left - 14, base - 4, "running sum l,", "small right"), text(left - 14, base + 12, "in units of e^m", "small right")]
    for i, (score, m, factor, l) in enumerate(states):
        x, old = left + i * width, (states[i - 1][3] if i else 0) * factor
        body += [box(x + 16, base - old * unit, width - 32, old * unit, "c2", 2),
                 box(x + 16, base - l * unit, width - 32, (l - old) * unit, "c1", 2), text(x + width / 2, base + 18, f"{l:g}", "small")]
        if 0 < factor < 1:
            body.append(text(x + width / 2, base - l * unit - 8, f"old times {fraction(factor)}", "small"))
    body.append(f'<path d="M{left} {base}H{left + 8 * width}" class="thin"/>')
    body += [box(left, 366, 14, 14, "c2", 2), text(left + 22, 378, "what was there, in the new currency", "small left"),
             box(left + 280, 366, 14, 14, "c1", 2), text(left + 302, 378, "the new term", "small left")]
    return svg(800, 392, "Eight scores with their running maximum, and the running sum, which is rescaled when the maximum grows", body)


COMPUTED = {f.__name__: f for f in (online_example, online_forms, online_mistakes)}
FIGURES = {"online_scan": figure}
