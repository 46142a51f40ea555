"""Tables and the figure of lesson 105."""
import math

import lesson_pages
from drawing import box, svg, text
from tables import number, table

DEMO = lesson_pages.demo(__file__)
STATE = lesson_pages.rows(DEMO, "keys   m/ln2        l        O    O / l")
TOKENS, TILE = 16, 4
# which pairs each mask of the demo leaves
VISIBLE = {"causal": lambda q, k: k <= q, "window 5": lambda q, k: q - 5 <= k <= q,
           "causal, packed 6 + 10": lambda q, k: k <= q and (k < 6) == (q < 6)}
SCORES, VALUES = [1, 3, 0, 2, 5, 2, 4, 1], [4, 1, 8, 2, 6, 0, 4, -16]  # scores in units of ln 2


def size(count):
    """Bytes as people say them."""
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count} B"


def blockwise_memory():
    rows = []
    for tokens in (4096, 32768, 131072):
        rows.append([f"{tokens:,}", size(4 * tokens**2), size(4 * 256**2), size(4 * tokens * (4 * 128 + 2))])
    return table(["tokens", "all scores", "one tile of 256 x 256", "q, k, v, O, m, l"], rows)


def blockwise_example():
    rows, before = [], None
    for keys, m, l, out, _ in STATE:
        first, last = map(int, keys.split(","))
        factor = "–" if before is None else number(2.0 ** (before - m))
        weights = ", ".join(number(2.0 ** (s - m)) for s in SCORES[first:last + 1])
        rows.append([keys.replace(",", ", "), ", ".join(map(str, SCORES[first:last + 1])), m, factor, weights, number(l), number(out)])
        before = m
    return table(["keys", r"scores / $\ln 2$", r"$m / \ln 2$", "factor $c$", "weights $p$", "$l$", "$O$"], rows)


def blockwise_tiles():
    head = "tile  tiles  pairs_computed  pairs_visible  scores_held  equals_dense"
    rows = [[f"{t} x {t}", f"{count:,}", f"{computed:,}", f"{100 * (computed / visible - 1):.0f} %", f"{held:,}"]
            for t, count, computed, visible, held, *_ in lesson_pages.rows(DEMO, head)]
    return table(["tile", "tiles with a visible pair", "scores computed", "on top of the visible ones", "scores in memory"], rows)


def nan_rows(skip):
    """Rows that are NaN when masked scores are -inf and nothing guards the maximum; tiles of 4 keys, a window of 5."""
    seen = VISIBLE["window 5"]
    count = 0
    for q in range(TOKENS):
        m, l = -math.inf, 0.0
        for first in range(0, TOKENS, TILE):
            rows = range(q // TILE * TILE, q // TILE * TILE + TILE)
            keys = range(first, first + TILE)
            if skip and not any(seen(a, k) for a in rows for k in keys):
                continue
            scores = [0.0 if seen(q, k) else -math.inf for k in keys]
            top = max(m, *scores)
            shifted = lambda x: math.nan if x == top == -math.inf else math.exp(x - top)  # -inf - (-inf) is NaN
            l = l * shifted(m) + sum(map(shifted, scores))
            m = top
        count += math.isnan(l)
    return count


def attention(scores, values):
    weights = [2.0**s for s in scores]
    return sum(w * v for w, v in zip(weights, values)) / sum(weights)


def blockwise_mistakes():
    tokens, ranks, heads = 131072, 8, 32
    shard = tokens // ranks
    whole, half = attention(SCORES, VALUES), attention(SCORES[:4], VALUES[:4])
    return table(["what is written", "what is true", "the number"], [
        ["Computing in tiles lowers the constant in front of the memory.", "It lowers the order: $S^2$ becomes $S$.",
         f"{tokens:,} tokens, one head: {size(4 * tokens**2)} of scores against {size(4 * 256**2)}"],
        ["Then a head needs $O(S)$ numbers.", "$O(S \\cdot d)$: q, k, v and O remain; only m and l take one number per token.",
         f"at head_dim 128 it is {4 * 128 + 2} numbers a token, not 2"],
        ["Inside a ring a block is small, its scores may be stored.", "They grow with the square of the shard: a block needs tiles as well.",
         f"{tokens:,} tokens, {ranks} ranks, {heads} heads: {size(2 * 4 * heads * shard**2)} for scores and weights of one block; its q, k, v "
         f"in bf16: {size(3 * 2 * heads * shard * 128)}"],
        ["Set masked scores to $-\\infty$, the exponential does the rest.", "A row whose first tile is masked has $m = -\\infty$ and computes "
         "$-\\infty - (-\\infty)$; no later tile repairs it.",
         f"window 5, {TOKENS} tokens, tiles of {TILE}: {nan_rows(False)} rows are NaN; {nan_rows(True)} if empty tiles are skipped"],
        ["A masked score is 0.", "$e^0 = 1$: it votes. Its *weight* is 0.",
         f"example, the last four keys masked: {attention(SCORES[:4] + [0] * 4, VALUES):.4f} instead of {half:.4f}"],
        ["Pad the last tile with keys of zeros.", "A zero key has score 0, and votes too.",
         f"example, padded from 8 keys to 12: {attention(SCORES + [0] * 4, VALUES + [0] * 4):.4f} instead of {whole:.4f}"],
    ])


def panel(x, y, title, cell):
    seen, side = VISIBLE[title], TOKENS * cell
    colours = {"empty": "card", "partial": "c1", "full": "c0"}
    body = [text(x + side / 2, y - 10, title, "bold")]
    for i, row in enumerate(lesson_pages.rows(DEMO, title)):
        for j, name in enumerate(row):
            pairs = [seen(q, k) for q in range(i * TILE, i * TILE + TILE) for k in range(j * TILE, j * TILE + TILE)]
            assert all(pairs) if name == "full" else not any(pairs) if name == "empty" else True
            body.append(box(x + j * TILE * cell + 1, y + i * TILE * cell + 1, TILE * cell - 2, TILE * cell - 2, colours[name], 3))
    for q in range(TOKENS):
        for k in range(TOKENS):
            if seen(q, k):
                body.append(f'<circle cx="{x + (k + 0.5) * cell:g}" cy="{y + (q + 0.5) * cell:g}" r="2.4" fill="#14213d"/>')
    return body


def figure():
    cell, body = 15, []
    for i, title in enumerate(VISIBLE):
        body += panel(36 + 290 * i, 34, title, cell)
    for x, cls, name in ((190, "c0", "full: every pair"), (350, "c1", "partial: two bounds per row"), (590, "card", "empty: skipped")):
        body += [box(x, 292, 20, 16, cls, 3), text(x + 28, 305, name, "small left")]
    body += [text(450, 330, "Rows are queries, columns are keys; a dot is a visible pair.", "small")]
    return svg(900, 340, "Tiles of 4 x 4 on three masked score matrices of 16 tokens: full, partial and empty", body)


COMPUTED = {f.__name__: f for f in (blockwise_memory, blockwise_example, blockwise_tiles, blockwise_mistakes)}
FIGURES = {"blockwise_tiles": figure}
