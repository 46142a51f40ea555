"""Tables and the figure of lesson 102."""
import math
import struct

from drawing import box, svg, text
from lesson_pages import demo, rows
from tables import number, table

DEMO = demo(__file__)
SCORES = [1, 3, 0, 2]  # in units of ln 2
LN2 = math.log(2)


def thresholds():
    return {name: limits for name, *limits in rows(DEMO, "type   infinite_from rounded_below zero_below")}


def printed(softmax, shift):
    """The weights that the demo prints for a row."""
    for line in rows(DEMO, "softmax  shift weights_of_1,_3,_0,_2_in_units_of_ln_2,_all_shifted"):
        if line[:2] == [softmax, shift]:
            return line[2:]
    raise SystemExit(f"demo output: no row {softmax} {shift}")


def softmax_limits():
    return table(["type", "$e^x$ is infinite from", "loses digits below", "is 0 below"],
                 [[f"`{name}`", *(f"{x:.2f}" for x in limits)] for name, limits in thresholds().items()])


def softmax_growth():
    head_dim, limit = 128, thresholds()["float"][0]
    bound = math.sqrt(head_dim)  # of |score| for q and k of root mean square 1, at the scale 1 / sqrt(head_dim)
    rms = math.sqrt(limit / bound)
    return f"""Can scores be so large? By the Cauchy-Schwarz inequality a score is at most $\\sigma |q| |k|$. With $\\sigma = 1/\\sqrt{{d}}$, and entries of root mean square $r$ in
$q$ and in $k$, that is $r^2 \\sqrt{{d}}$: for $d = {head_dim}$ and $r = 1$ it is {bound:.1f}, and at $r = {rms:.2f}$ it reaches {limit:.1f}, the limit of float. Nothing keeps
$r$ near 1, since learned matrices produce q and k. In a large model scores have grown during training until the loss diverged
([arXiv:2302.05442](https://arxiv.org/abs/2302.05442)): *attention logit growth*. The cure there is *QK-norm*, which normalises q and k before the product, so that
only a learned gain can raise scores above $\\sqrt{{d}}$. Softmax itself must be right for any scores.
"""


def softmax_rows():
    shown = lambda weights: ", ".join("NaN" if math.isnan(w) else f"{w:.4f}" for w in weights)
    return table(["scores", "as it stands", "maximum subtracted"],
                 [["$1, 3, 0, 2$, times $\\ln 2$" + (f", all {'plus' if shift > 0 else 'minus'} {abs(shift)}" if shift else ""),
                   shown(printed("naive", shift)), shown(printed("safe", shift))] for shift in (0, 100, -102, -110)])


def softmax_example():
    top = max(SCORES)
    weights = [2.0 ** (s - top) for s in SCORES]
    total = sum(weights)
    for got, weight in zip(printed("safe", 0), weights):
        assert abs(got - weight / total) < 1e-4
    lines = [[s, s - top, number(w), f"{w / total:.4f}"] for s, w in zip(SCORES, weights)]
    return table([r"score / $\ln 2$", "minus the maximum", "exponential", "weight"], lines) + (
        f"\nThe maximum is {top}, in units of $\\ln 2$, and $l = {number(total)}$. The demo of lesson 101 had the same four scores and divided by 15; "
        f"here everything is smaller by the factor $2^{{{top}}}$, above and below the line.\n")


class Counted(list):
    """Scores that count how often the row is read from its beginning to its end."""
    scans = 0

    def __iter__(self):
        self.scans += 1
        return super().__iter__()


def naive(scores):
    total = sum(math.exp(s) for s in scores)
    return [math.exp(s) / total for s in scores]


def safe(scores):
    top = max(scores)
    total = sum(math.exp(s - top) for s in scores)
    return [math.exp(s - top) / total for s in scores]


def online(scores):
    top, total = -math.inf, 0.0
    for s in scores:
        grown = max(top, s)
        total, top = total * math.exp(top - grown) + math.exp(s - grown), grown
    return [math.exp(s - top) / total for s in scores]


def softmax_scans():
    lines = []
    for name, function, what in [("as it stands", naive, "sum; weights"), ("safe", safe, "maximum; sum; weights"),
                                 ("online, lesson 103", online, "maximum and sum; weights")]:
        scores = Counted([0.5, 2.0, -1.0, 1.0, 0.0])
        weights = function(scores)
        assert abs(sum(weights) - 1) < 1e-12
        lines.append([name, scores.scans, what])
    return table(["softmax", "scans of the row", "for"], lines)


def bfloat16(x):
    """x rounded to the nearest bfloat16, ties to even."""
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    return struct.unpack("<f", struct.pack("<I", (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16))[0]


def ones_in_bfloat16(count):
    total = 0.0
    for _ in range(count):
        total = bfloat16(total + 1.0)
    return total


def softmax_mistakes():
    zero = thresholds()["float"][2]
    smallest = 2.0**-126
    total = sum(2.0 ** (s - max(SCORES)) for s in SCORES)
    last_place = 2.0 ** (math.floor(math.log2(total)) - 23)  # one unit of it, of the sum in float
    units = (struct.unpack("f", struct.pack("f", total + 1e-6))[0] - total) / last_place
    return table(["what is written", "what is true", "the number"], [
        ["Softmax takes three scans, the safe one two, the online one one.", "Two, three and two. One scan is enough only when the weights are never "
         "written, but used at once.", "counted above"],
        ["One maximum for the whole score matrix will do.", "A row that lies far below it vanishes. Each row has its own maximum.",
         f"in float: from {-zero:.0f} below the others, $0/0$"],
        ["Start the search for the maximum at 0.", "Then a row of negative scores keeps the maximum 0 and is not shifted.",
         f"in float: every score below {zero:.2f}: NaN"],
        ["Start it at the smallest float, `numeric_limits<float>::min()`.", "That is the smallest *positive* normal number. Use minus infinity.",
         f"{smallest:.2e}, which is above 0"],
        ["Add $10^{-6}$ to the sum, against division by zero.", "The maximum itself contributes 1: $l \\ge 1$ for every row with a key. Adding "
         "to $l$ only makes every weight too small.", f"example, in float: $l = {number(total)}$ grows by {units:.0f} units in its last place, and every weight loses {1e-6 / total:.1e} of itself"],
        ["Accumulate in float32, so that `exp` does not overflow.", "No exponent is positive, so nothing overflows. The reason is the few digits of the *sum*.",
         f"1000 ones added up in bfloat16 give {ones_in_bfloat16(1000):g}"],
        ["A result without NaN is a right result.", "Near the lower end the exponentials have few digits left.",
         f"row of the table above at -102: {printed('naive', -102)[0]:.4f} instead of {printed('safe', -102)[0]:.4f}"],
    ])


def figure():
    """Four rows of scores on the axis of exp in float: as they stand, and with their maxima subtracted."""
    infinite, rounded, zero = thresholds()["float"]
    left, right, low, high = 150, 850, -125, 115
    x = lambda score: left + (score - low) / (high - low) * (right - left)
    bands = [(low, zero, "c3", "is 0"), (zero, rounded, "c1", "loses digits"), (rounded, infinite, "c2", "exp has all its digits"),
             (infinite, high, "c3", "infinite")]
    body = []
    for top, title in ((30, "as they stand"), (206, "maximum subtracted")):
        body.append(text(left, top - 12, title, "left bold"))
        for start, end, colour, _ in bands:
            body.append(f'<rect x="{x(start):.1f}" y="{top}" width="{x(end) - x(start):.1f}" height="112" class="{colour}"/>')
        for i, shift in enumerate((0, 100, -102, -110)):
            y = top + 20 + 25 * i
            body.append(text(left - 12, y + 5, "scores" if shift == 0 else f"scores {'+' if shift > 0 else '-'} {abs(shift)}", "small right"))
            moved = [s * LN2 + shift - (0 if top == 30 else max(SCORES) * LN2 + shift) for s in SCORES]
            body += [f'<circle cx="{x(s):.1f}" cy="{y}" r="3" class="ink"/>' for s in moved]
    for start, end, _, name in bands:
        left_bound = start == zero  # a narrow band: its name begins with it
        body.append(text(x(start) + 4 if left_bound else (x(start) + x(end)) / 2, 160, name, "small left" if left_bound else "small"))
    for score in (infinite, rounded, zero, 0):
        body.append(text(x(score), 336, number(score) if score == 0 else f"{score:.1f}", "small"))
    return svg(880, 346, "Rows of scores against the range of the exponential in float, before and after the maximum is subtracted", body)


COMPUTED = {f.__name__: f for f in (softmax_limits, softmax_growth, softmax_rows, softmax_example, softmax_scans, softmax_mistakes)}
FIGURES = {"softmax_range": figure}
