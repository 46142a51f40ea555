"""Tables and the figure of lesson 302; states and phases come from what the demo prints."""
import math

import lesson_pages
from drawing import box, svg, text
from tables import number, table

RANKS = 4
DEMO = lesson_pages.demo(__file__)
SCORES = [[1, 3, 0], [5, 2], [], [4, 1, 2]]  # in units of ln 2, as in the demo


def spread(form):
    """[rank][exchange]: the ranks whose states a rank knows."""
    lines = DEMO.split("\n")
    at = lines.index(f"{form}: states that ranks 0 to {RANKS - 1} know, exchange by exchange")
    return [line.split() for line in lines[at + 1:at + 1 + RANKS]]


def states():
    """For each rank: own m / ln 2, own l, m / ln 2 and l of the row, weights."""
    return [line[1:] for line in lesson_pages.rows(DEMO, "rank, own m/ln2, own l, m/ln2 of the row, l of the row, weights")]


def costs():
    """N -> exchanges of the chain, of the all-reduce, bytes for 1000 rows."""
    return {line[0]: line[1:] for line in lesson_pages.rows(DEMO, "ranks, exchanges of the chain, of the all-reduce, bytes sent by a rank for 1000 rows")}


def softmax_example():
    rows, sums = [], []
    for rank, (own_max, own_sum, row_max, row_sum, *weights) in enumerate(states()):
        scores = ", ".join(map(str, SCORES[rank])) or "none"
        shown = ", ".join(f"{weight:.4f}" for weight in weights) or "none"
        empty = own_sum == 0
        factor = "0" if empty else f"$2^{{{round(own_max - row_max)}}}$"
        rows.append([rank, scores, r"$-\infty$" if empty else own_max, number(own_sum), factor, shown])
        sums.append(f"{factor.strip('$')} \\cdot {number(own_sum)}")
        exact = [2.0 ** (s - row_max) / row_sum for s in SCORES[rank]]
        assert all(abs(w - e) < 1e-5 for w, e in zip(weights, exact, strict=True))
    return (table(["rank", r"scores / $\ln 2$", r"own $m / \ln 2$", "own $l$", r"factor $e^{m_r - m}$", "weights in the row"], rows) + f"""
The row's maximum is ${states()[0][2]} \\ln 2$, and

```math
l = {' + '.join(sums)} = {number(states()[0][3])}
```

The weights of all ranks together add up to {sum(sum(line[4:]) for line in states()):.4f}.
""")


def softmax_forms():
    by_n = costs()
    return table(["$N$ =", *by_n], [["exchanges of the chain", *(c[0] for c in by_n.values())],
                                    ["exchanges of the all-reduce", *(c[1] for c in by_n.values())],
                                    ["bytes sent by a rank, 1000 rows, either way", *(f"{c[2]:,}" for c in by_n.values())]])


def softmax_beside_ring():
    seqlen, heads, kv_heads, head_dim, size = 4096, 8, 2, 64, 4
    ring = (RANKS - 1) * 2 * kv_heads * (seqlen // RANKS) * head_dim * size

    def stage(queries):
        """All-gather of q, all-gather of (m, l) of every row, reduce-scatter of the shares of out: the most that a rank sends."""
        own = math.ceil(queries / RANKS)
        gathered = lambda mine: (RANKS - 1) * (mine * head_dim + 2 * queries)
        return heads * size * max(gathered(own) + (queries - own) * head_dim, gathered(0) + queries * head_dim if queries < RANKS else 0)

    def partials(queries):
        """All-gather of q; then (O, m, l) of its own keys goes to the rank of the query, which merges: a reduce-scatter with that merge."""
        own = math.ceil(queries / RANKS)
        sent = lambda mine: (RANKS - 1) * mine * head_dim + (queries - mine) * (head_dim + 2)
        return heads * size * max(sent(own), sent(0) if queries < RANKS else 0)

    times = lambda count: f"{count:,}: {count / ring:.{2 if count > ring else 4}f} times the ring"
    assert abs(stage(seqlen) / ring - 4.25) < 0.005 and abs(partials(seqlen) / ring - 4.06) < 0.005
    return table(["what moves", "collectives", f"{seqlen} queries, {seqlen} keys", f"1 query, {seqlen} keys"], [
        ["K and V (ring)", "none: send and receive between neighbours", f"**{ring:,}**", f"{ring:,}"],
        ["queries, $(m, l)$, shares of out", "all-gather, all-gather, reduce-scatter", times(stage(seqlen)), times(stage(1))],
        ["queries, states $(O, m, l)$", "all-gather, reduce-scatter that merges", times(partials(seqlen)), f"**{partials(1):,}**: {partials(1) / ring:.4f} times the ring"],
    ]) + f"""
With as many queries as keys, the all-gather of the queries and the reduce-scatter of out each send {heads // kv_heads} / 2 = {heads // kv_heads / 2:g} times the bytes of K and V: there are {heads // kv_heads} query heads
for each KV head, and one tensor instead of two.
"""


def softmax_mistakes():
    n = 8
    chain, reduced, _ = costs()[n]
    tree = math.ceil(math.log2(n))
    forth, back = (0.1 + 0.2) + 0.3, (0.3 + 0.2) + 0.1
    return table(["what is written", "what is true", "the number"], [
        ["Each rank waits for the state before it, then looks at its own scores; the last one broadcasts.", "Right, but one rank after another: "
         "no two scans overlap.", f"$N = {n}$: {n} scans in a row and {chain} + {tree} exchanges; all at once: 1 scan, {reduced} exchanges"],
        ["Send $m$ and $l$ as two messages.", "A message costs its latency; two numbers fit into one.", f"$N = {n}$: {2 * (chain + tree)} messages in a row instead of {chain + tree}"],
        ["One message for each row.", "The states of all rows travel together.", f"4096 rows, $N = {n}$: {4096 * reduced:,} exchanges instead of {reduced}"],
        ["All-reduce the maximum, then the sums against it.", "Right, with twice the latency. $(m, l)$ is one thing that can be merged.", f"$N = {n}$: {2 * reduced} exchanges instead of {reduced}"],
        ["The first rank begins with whatever $m$ and $l$ hold.", "With the identity, $(-\\infty, 0)$. So does a rank without a score.", "rank 2 above"],
        ["The merge does not depend on the order, so let each rank merge states as they come by.", "It does in the last digit, and then ranks disagree about the same row.",
         f"$0.1 + 0.2 + 0.3$ from the left: {forth!r}, from the right: {back!r}"],
        ["Softmax on every rank, then average.", "A rank with small scores deserves small weights.", f"best weight of rank 0: {max(2.0 ** (s - 3) for s in SCORES[0]) / sum(2.0 ** (s - 3) for s in SCORES[0]):.4f} of its own, "
         f"{max(states()[0][4:]):.4f} of the row"],
    ])


def panel(x, form, title):
    width, grid = 74, spread(form)
    body = [text(x + 2 * width, 22, title, "bold")]
    body += [text(x + (rank + 0.5) * width, 44, f"rank {rank}", "small") for rank in range(RANKS)]
    for rank, line in enumerate(grid):
        for exchange, known in enumerate(line):
            y = 52 + 34 * exchange
            body.append(box(x + rank * width + 3, y, width - 6, 28, "card", 5))
            for i, digit in enumerate(known):
                left = x + rank * width + 8 + 15 * i
                body += [box(left, y + 6, 13, 16, f"c{digit}", 2), text(left + 6.5, y + 19, digit, "small ink")]
    for exchange in range(len(grid[0])):
        body.append(text(x - 8, 71 + 34 * exchange, "at first" if exchange == 0 else f"exchange {exchange}", "small right"))
    return body


def softmax_states():
    body = panel(84, "chain", "chain: the own state joins what arrives") + panel(500, "all-gather", "all-gather: what is known doubles")
    return svg(806, 200, "The states that each of four ranks knows, exchange by exchange, in a chain and in an all-gather", body)


COMPUTED = {f.__name__: f for f in (softmax_example, softmax_forms, softmax_beside_ring, softmax_mistakes)}
FIGURES = {"softmax_states": softmax_states}
