"""Draws the figures of the README and the lessons into docs/figures/, from the layout formulas and the worked example.

Each SVG carries its own colours for light and dark pages.
    python3 docs/figures.py --write | --check
"""
import math
import sys

import layouts
import marks
import worked

RANKS, TOKENS = 4, 16
STYLE = """<style>
:root{color-scheme:light dark}
text{font:14px system-ui,"Segoe UI",Helvetica,Arial,sans-serif;fill:#1c2330;text-anchor:middle}
.small{font-size:12px} .left{text-anchor:start} .right{text-anchor:end} .ink{fill:#14213d} .bold{font-weight:600}
.line{stroke:#6b7686;stroke-width:2;fill:none} .thin{stroke:#6b7686;stroke-width:1;fill:none}
.card{fill:#ffffff;stroke:#6b7686;stroke-width:1.5}
.c0{fill:#8ecae6} .c1{fill:#ffc857} .c2{fill:#9bd08a} .c3{fill:#f4978e}
@media (prefers-color-scheme:dark){text{fill:#dfe5ee}.ink{fill:#14213d}.card{fill:#1c2430}}
</style>"""


def svg(width, height, title, body):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'style="max-width:{width}px" role="img" aria-label="{title}">\n<title>{title}</title>\n{STYLE}\n' + "\n".join(body) + "\n</svg>\n")


def text(x, y, words, cls=""):
    return f'<text x="{x:g}" y="{y:g}"' + (f' class="{cls}"' if cls else "") + f">{words}</text>"


def box(x, y, width, height, cls, round_=4):
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{round_}" class="{cls}"/>'


def sequence(x, y, width):
    """The sequence, each token in the colour of its owner."""
    owner = {p: rank for rank in range(RANKS) for p in layouts.positions("zigzag", TOKENS, RANKS, rank)}
    cell = width / TOKENS
    body = []
    for p in range(TOKENS):
        body += [box(x + p * cell + 1, y, cell - 2, 26, f"c{owner[p]}"), text(x + (p + 0.5) * cell, y + 18, p, "small ink")]
    return body


def arrow(cx, cy, radius, start, end):
    """A clockwise arc between two angles in degrees, 0 at the top."""
    point = lambda angle: (cx + radius * math.sin(math.radians(angle)), cy - radius * math.cos(math.radians(angle)))
    (x0, y0), (x1, y1) = point(start), point(end)
    return (f'<path d="M{x0:.1f} {y0:.1f} A{radius} {radius} 0 0 1 {x1:.1f} {y1:.1f}" class="line" '
            'marker-end="url(#tip)"/>')


def ring_step(cx, cy, step):
    """The ring at one step: each rank with its queries and the KV block that it holds."""
    radius, width, height = 72, 62, 44
    body = []
    if step < RANKS - 1:
        body += [arrow(cx, cy, radius, 90 * i + 33, 90 * i + 59) for i in range(RANKS)]
    for rank in range(RANKS):
        angle = math.radians(360 / RANKS * rank)
        x, y = cx + radius * math.sin(angle) - width / 2, cy - radius * math.cos(angle) - height / 2
        block = layouts.source(rank, step, RANKS)
        body += [box(x, y, width, height, "card", 6), box(x + 4, y + 4, 16, 14, f"c{rank}"),
                 text(x + 39, y + 16, f"Q {rank}", "small"), box(x + 4, y + 22, width - 8, 18, f"c{block}"),
                 text(x + width / 2, y + 35, f"K V {block}", "small ink bold")]
    return body


def ring():
    body = ['<defs><marker id="tip" viewBox="0 0 8 8" refX="5" refY="4" markerWidth="5" markerHeight="5" orient="auto">'
            '<path d="M0 0L8 4L0 8z" fill="#6b7686"/></marker></defs>',
            text(450, 20, f"{TOKENS} tokens, dealt to {RANKS} ranks in a zig-zag: the colour is the owner")]
    body += sequence(130, 32, 640)
    for step in range(RANKS):
        cx = 115 + 223 * step
        pairs = {layouts.causal_pairs("zigzag", TOKENS, RANKS, i, layouts.source(i, step, RANKS)) for i in range(RANKS)}
        assert len(pairs) == 1  # the zig-zag gives every rank the same work in every step
        body += ring_step(cx, 190, step)
        body += [text(cx, 195, f"step {step}", "bold"),
                 text(cx, 310, f"{pairs.pop()} pairs on every rank", "small")]
    body += [text(450, 338, "Queries stay at home; KV blocks go around. Pairs: (query, key) pairs that a causal mask leaves.",
                  "small")]
    return svg(900, 350, "Ring attention on four ranks: the KV blocks at steps 0 to 3", body)


def bars(x, y, heights, labels, scale, colours):
    body = []
    for i, (height, label) in enumerate(zip(heights, labels)):
        left = x + i * 30 + (10 if i >= 4 else 0)
        body += [box(left, y - height * scale, 24, height * scale, colours[i], 2), text(left + 12, y + 16, label, "small")]
    return body + [f'<path d="M{x - 6} {y}H{x + 252}" class="thin"/>']


def merge():
    scores = worked.SCORES["A"] + worked.SCORES["B"]
    own = [2.0 ** (s - max(worked.SCORES[side])) for side in "AB" for s in worked.SCORES[side]]
    merged = [2.0 ** (s - max(scores)) for s in scores]
    label = lambda weights: [worked.fraction(w) for w in weights]
    colours, body = ["c0"] * 4 + ["c1"] * 4, []
    panels = [("scores, in units of ln 2", scores, scores, 110 / max(scores)),
              ("weights, each half by its own maximum", own, label(own), 110),
              ("weights after the merge", merged, label(merged), 110)]
    for i, (title, heights, labels, scale) in enumerate(panels):
        x = 24 + 296 * i
        body += [text(x + 123, 22, title)] + bars(x, 150, heights, labels, scale, colours)
        body += [text(x + 57, 190, "A", "bold"), text(x + 187, 190, "B", "bold")]
    factor = worked.fraction(2.0 ** (max(worked.SCORES["A"]) - max(scores)))
    body.append(text(24 + 296 * 2 + 57, 208, f"all times {factor}", "small"))
    return svg(880, 216, "Two halves of four keys: scores, weights of each half, weights after the merge", body)


def lane(y, name, spans, cls, unit, left):
    body = [text(left - 10, y + 15, name, "small right")]
    for start, length, label in spans:
        body += [box(left + start * unit + 1, y, length * unit - 2, 21, cls), text(left + (start + length / 2) * unit, y + 15, label, "small ink")]
    return body


def overlap():
    compute, move, unit, left = 3, 1, 48, 130
    step = max(compute, move)
    body = [text(left, 20, "exchange under way while computing", "left bold")]
    body += lane(30, "compute", [(t * step, compute, f"step {t}") for t in range(RANKS)], "c0", unit, left)
    body += lane(55, "exchange", [(t * step, move, "KV") for t in range(RANKS - 1)], "c1", unit, left)
    apart = compute + move
    body += [text(left, 110, "one after the other", "left bold")]
    body += lane(120, "compute", [(t * apart, compute, f"step {t}") for t in range(RANKS)], "c0", unit, left)
    body += lane(145, "exchange", [(t * apart + compute, move, "KV") for t in range(RANKS - 1)], "c1", unit, left)
    total = RANKS * compute + (RANKS - 1) * move
    body.append(f'<path d="M{left} 184H{left + total * unit}" class="thin"/>')
    for tick in range(0, total + 1, 3):
        body += [f'<path d="M{left + tick * unit} 180v8" class="thin"/>', text(left + tick * unit, 204, tick, "small")]
    return svg(880, 212, "Time lines of one rank with and without overlap", body)


def main():
    folder = marks.ROOT / "docs/figures"
    return marks.write_or_check({folder / f"{f.__name__}.svg": f() for f in (ring, merge, overlap)}, __doc__)


if __name__ == "__main__":
    sys.exit(main())
