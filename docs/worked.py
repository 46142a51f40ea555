"""Computes the worked tables of the lessons and writes them between `<!-- computed: NAME -->` and `<!-- /computed -->`.

Every figure in these tables is computed here when the script runs, from the formula or by simulating the mistake.
    python3 docs/worked.py --write | --check
"""
import math
import random
import sys

import layouts
import marks

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


def number(x):
    """Exact where it is short, else four digits behind the point."""
    return f"{x:.5f}".rstrip("0").rstrip(".") if round(x * 32) == x * 32 else f"{x:.4f}"


def fraction(x):
    return "1" if x == 1 else f"1/{round(1 / x)}"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"


def merge_example():
    rows = []
    for side in "AB":
        top = max(SCORES[side])
        weights = ", ".join(fraction(2.0 ** (s - top)) for s in SCORES[side])
        m, l, o = half(side)
        rows.append([f"${side}$", ", ".join(map(str, SCORES[side])), ", ".join(map(str, VALUES[side])), top, weights,
                     number(round(l, 9)), number(round(o, 9))])
    (ma, la, oa), (mb, lb, ob) = half("A"), half("B")
    m, l, o = merge(half("A"), half("B"))
    whole = partial([s * math.log(2) for s in SCORES["A"] + SCORES["B"]], VALUES["A"] + VALUES["B"])
    assert max(abs(x - y) for x, y in zip((m, l, o), whole)) < 1e-14
    wa, wb = math.exp(ma - m), math.exp(mb - m)
    n = lambda x: number(round(x, 9))
    head = ["half", r"scores / $\ln 2$", "values", r"$m / \ln 2$", "weights", "$l$", "$O$"]
    return (table(head, rows) + f"""
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
        ["One step more does no harm.", "A block merged twice counts twice (here $A$).",
         f"{out(*merge(a, merge(a, b)))} instead of {out(*merge(a, b))}"],
        [r"Merge with the weights $e^{\mathrm{lse}}$.", "Without a shift they overflow or vanish, and the quotient is NaN.",
         f"in float: lse above {largest_float:.1f} or below {smallest_float:.1f}"],
        ["The formula holds as it stands.", "Two empty sides give $-\\infty - (-\\infty)$, NaN for ever. A ring that begins with "
         "its own block never meets two empty sides; one that begins with its neighbour's does.",
         f"causal, {TOKENS} tokens on {RANKS} ranks: {nan_rows(0)} NaN rows against {nan_rows(1)}"],
        ["Clamp $l$ to at least $10^{-6}$, against empty rows.", "Dead code: the maximum itself contributes 1 to $l$, and a "
         "NaN passes through the clamp.", f"smallest $l$ of {20000} random rows: {smallest_sum(20000):g}"],
        ["Begin with $m = -10^4$ instead of $-\\infty$.", "Then a row of lower scores has no weight left, and $0 / 0$ is NaN.",
         f"in float: from {-1e4 + smallest_float:.0f} down"],
    ])


def ring_steps():
    rows = [[t, *(f"block {layouts.source(i, t, RANKS)}" for i in range(RANKS)),
             "to the next rank" if t < RANKS - 1 else "none"] for t in range(RANKS)]
    return table(["step", *(f"rank {i}" for i in range(RANKS)), "exchange"], rows)


def ring_buffers():
    rank, rows = 2, []
    for t in range(RANKS):
        held = layouts.source(rank, t, RANKS)
        place = "own" if t == 0 else f"ring buffer {(t - 1) % 2}"
        arriving = f"block {layouts.source(rank, t + 1, RANKS)}, into ring buffer {t % 2}" if t < RANKS - 1 else "nothing"
        rows.append([t, f"block {rank}", f"block {held}, in {'the own buffers' if t == 0 else place}", arriving])
    return table(["step", "own", "current", "arriving"], rows)


def ring_time():
    compute, move = 3, 1
    together = compute + (RANKS - 1) * max(compute, move)
    apart = RANKS * compute + (RANKS - 1) * move
    return f"With $N = {RANKS}$, $T_c = {compute}$ and $T_{{kv}} = {move}$: {together} against {apart}.\n"


def ring_bytes():
    seqlen, kv_heads, head_dim, size = 4096, 2, 64, 4
    block = 2 * kv_heads * (seqlen // RANKS) * head_dim * size
    return (f"For {seqlen} tokens on {RANKS} ranks, {kv_heads} KV heads of {head_dim} numbers, in float32 (what `./ringcraft run` "
            f"computes): {block:,} bytes for each exchange,\n{(RANKS - 1) * block:,} for each rank in all.\n")


def overwritten():
    """Whose block each rank finds in the caller's k after a forward pass that rotates the caller's own buffer."""
    places = {"own": list(range(RANKS)), "other": [None] * RANKS}
    current, arriving = "own", "other"
    for _ in range(RANKS - 1):
        places[arriving] = [places[current][(i - 1) % RANKS] for i in range(RANKS)]
        current, arriving = arriving, current
    return places["own"]


def ring_mistakes():
    pairs = [sum(layouts.causal_pairs("contiguous", TOKENS, RANKS, i, j) for j in range(RANKS)) for i in range(RANKS)]
    wasted = ", ".join(f"{100 / (n - 1):.0f} % for $N = {n}$" for n in (2, 4, 8))
    held = ", ".join(map(str, overwritten()))
    return table(["what is written", "what is true", "the number"], [
        ["$N$ steps, so $N$ exchanges.", "$N - 1$: what comes after the last step is thrown away.", f"bytes wasted: {wasted}"],
        ["One extra buffer is enough: swap it with k and v.", "Then the caller's k and v are received into, and the backward "
         "pass reads other ranks' blocks. It shows from $N = 3$ on.",
         f"$N = {RANKS}$: the ranks' own k hold the blocks {held} afterwards"],
        ["Under a causal mask, later query blocks are cheaper.", "The reverse: late queries see many keys.",
         f"pairs of the ranks, {TOKENS} tokens, $N = {RANKS}$: {', '.join(map(str, pairs))}"],
        ["All ranks send first, then receive; it worked in the test.", "The transport had copied the small message aside. Beyond its "
         "limit the same code hangs.", "Open MPI 4.1 in shared memory: limit 4096 bytes with header, as "
         "`ompi_info --param btl vader --level 9` shows (`btl_vader_eager_limit`)"],
        ["At step $t$ rank $i$ holds block $(i + t) \\bmod N$.", "$(i - t) \\bmod N$, as long as blocks move to the next rank. Full "
         "attention and $N = 2$ hide the mistake.",
         f"$N = {RANKS}$, step 1: rank 2 holds block {layouts.source(2, 1, RANKS)}, not {(2 + 1) % RANKS}"],
        ["The ring sends less than an all-gather.", "Just as much; it *holds* less.", f"blocks held at $N = 8$: 3 against 8"],
    ])


BLOCKS = {f.__name__: f for f in (merge_example, merge_mistakes, ring_steps, ring_buffers, ring_time, ring_bytes, ring_mistakes)}


def main():
    wanted = {page: marks.renewed(marks.read(page), "computed", lambda name: BLOCKS[name]()) for page in marks.pages()}
    return marks.write_or_check(wanted, __doc__)


if __name__ == "__main__":
    sys.exit(main())
