"""Draws the figures of the README and the lessons into docs/figures/.

A lesson's figures are the functions that its page.py lists in FIGURES, a file name for each.
    python3 docs/figures.py --write | --check
"""
import math
import sys

import layouts
import lesson_pages
import marks
from drawing import box, owner_strip, svg, text

RANKS, TOKENS = 4, 16


def sequence(layout, x, y, width):
    """The sequence, each token in the colour of its owner."""
    owner = {p: rank for rank in range(RANKS) for p in layouts.positions(layout, TOKENS, RANKS, rank)}
    return owner_strip(x, y, width, [owner[p] for p in range(TOKENS)])


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


def ring(layout, dealt, causal, mask):
    """The ring at every step. `causal`: the pairs of a causal mask are counted, otherwise all; `mask` says so in words."""
    body = ['<defs><marker id="tip" viewBox="0 0 8 8" refX="5" refY="4" markerWidth="5" markerHeight="5" orient="auto">'
            '<path d="M0 0L8 4L0 8z" fill="#6b7686"/></marker></defs>',
            text(450, 20, f"{TOKENS} tokens, dealt to {RANKS} ranks {dealt}: the colour is the owner")]
    body += sequence(layout, 130, 32, 640)
    for step in range(RANKS):
        cx = 115 + 223 * step
        pairs = {layouts.causal_pairs(layout, TOKENS, RANKS, i, layouts.source(i, step, RANKS)) if causal else (TOKENS // RANKS) ** 2 for i in range(RANKS)}
        assert len(pairs) == 1  # the same work on every rank in every step
        body += ring_step(cx, 190, step)
        body += [text(cx, 195, f"step {step}", "bold"),
                 text(cx, 310, f"{pairs.pop()} pairs on every rank", "small")]
    body += [text(450, 338, f"Queries stay at home; KV blocks go around. Pairs: (query, key) pairs {mask}.", "small")]
    return svg(900, 350, "Ring attention on four ranks: the KV blocks at steps 0 to 3", body)


def main():
    drawings = {"ring": lambda: ring("zigzag", "in a zig-zag", True, "that a causal mask leaves"),
                "ring_contiguous": lambda: ring("contiguous", "in contiguous shards", False, "of a rank and its block, without a mask")}
    for page in lesson_pages.modules():
        for name, draw in page.FIGURES.items():
            if name in drawings:
                raise SystemExit(f"figure {name}: drawn twice")
            drawings[name] = draw
    folder = marks.ROOT / "docs/figures"
    return marks.write_or_check({folder / f"{name}.svg": draw() for name, draw in drawings.items()}, __doc__)


if __name__ == "__main__":
    sys.exit(main())
