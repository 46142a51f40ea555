"""Tables and the figure of lesson 304: who holds what comes from the demo, what mistakes cost from a small attention in
plain Python, whose gradients are taken apart by (rank of the queries, block of the keys)."""
import math
import random

import layouts
import lesson_pages
from drawing import box, svg, text
from tables import table

RANKS = 4
DEMO = lesson_pages.demo(__file__)
WALKS = {"forward": "schedule forward", "reversed": "schedule reversed", "against": "sums against blocks"}


def hands(walk):
    """[step][rank] = (block in hand, blocks of the parts in its sum); in the line after the last step there is no block."""
    lines = lesson_pages.rows(DEMO, f"{WALKS[walk]}: step, block:sum in the hands of ranks 0 to {RANKS - 1}")
    split = lambda word: (word.split(":")[0], word.split(":")[1].rstrip("."))
    return [[split(str(word)) for word in line[1:]] for line in lines]


def contributors(walk, step, rank):
    """Ranks whose queries are in the sum that a rank holds when it has added its own part at a step."""
    block, parts = hands(walk)[step][rank]
    assert set(parts) == {block}, "these sums belong to one block"
    direction = 1 if walk == "forward" else -1
    return [(rank - direction * (len(parts) - 1 - i)) % RANKS for i in range(len(parts))]


def steps(walk, moves, home):
    rows = []
    for step in range(RANKS):
        cells = [f"block {hands(walk)[step][i][0]}, parts of {', '.join(map(str, contributors(walk, step, i)))}" for i in range(RANKS)]
        rows.append([step, *cells, moves if step < RANKS - 1 else home])
    return table(["step", *(f"rank {i}" for i in range(RANKS)), "then"], rows)


def backward_forward_steps():
    return steps("forward", "both to the next rank", "sums to the next rank: home")


def backward_reversed_steps():
    return steps("reversed", "both to the previous rank", "nothing: home already")


def backward_buffers():
    """Schedule forward on rank 2: which gradients are where while a step computes."""
    rank, rows = 2, []
    block = lambda step: layouts.source(rank, step, RANKS)
    for step in range(RANKS):
        rows.append([step, f"dK dV {block(step)}", f"dK dV {block(step - 1)}, to rank {(rank + 1) % RANKS}" if step else "nothing",
                     f"dK dV {block(step)}, from rank {(rank - 1) % RANKS}" if step else "nothing"])
    hops = RANKS - 1
    rows.append(["end", "nothing", f"dK dV {block(hops)}, to rank {(rank - hops) % RANKS}", f"dK dV {rank}, from rank {(rank + hops) % RANKS}"])
    return table(["step", "part being computed", "sum that leaves", "sum that arrives"], rows)


def demo_costs():
    title = "schedule, bytes sent by a rank, virtual time, largest error below 1e-12 of its scale"
    return {name: (sent, clock) for name, sent, clock, right in lesson_pages.rows(DEMO, title) if right == "yes"}


def backward_costs():
    def ratio(extra, ranks, gradient):  # `gradient`: bytes of a number of dK and dV over those of a number of K and V
        hops = ranks - 1
        return (hops + (hops + extra) * gradient) / hops

    ratios = lambda extra, gradient: ", ".join(f"{ratio(extra, n, gradient):.2f}" for n in (2, 4, 8))
    block = 2 * 1 * (16 // RANKS) * 4 * 8  # bytes of K and V of a rank in the demo: 1 KV head, 16 tokens, head_dim 4, float64
    costs, rows = demo_costs(), []
    for name, extra in (("forward", 1), ("reversed", 0)):
        sent, clock = costs[name]
        assert sent == ratio(extra, RANKS, 1) * (RANKS - 1) * block
        rows.append([name, "$C$", "$C + 1$" if extra else "$C$", ratios(extra, 1), ratios(extra, 2), f"{sent:,}", clock])
    assert (rows[0][-1], rows[1][-1]) == (RANKS * 3 + 1, RANKS * 3)
    return table(["schedule", "hops of K, V", "hops of dK, dV", "bytes over the forward pass, one type, $N$ = 2, 4, 8", "the same, K, V in bf16, dK, dV in float32",
                  "demo: bytes sent by a rank", "demo: time"], rows) + f"""
The demo has one type, float64, and $N = {RANKS}$. The forward pass of its problem sends {(RANKS - 1) * block:,} bytes per rank, so the bytes of the demo are {ratio(1, RANKS, 1):.2f} and {ratio(0, RANKS, 1):.2f} times as many.
"""


# ---- what mistakes cost

class Attention:
    """Full attention over RANKS shards; part[i][j] = (dk, dv) that the queries of rank i give to block j, dq_part likewise."""

    def __init__(self, ranks, rows=4, dim=3):
        stream = random.Random(7)
        normal = lambda: [[stream.gauss(0, 1) for _ in range(dim)] for _ in range(ranks * rows)]
        self.q, self.k, self.v, self.dout = normal(), normal(), normal(), normal()
        self.ranks, self.rows, self.dim, self.scale = ranks, rows, dim, dim**-0.5
        self.p = [self.weights(q, self.k) for q in self.q]
        self.out = [[sum(w * v[c] for w, v in zip(p, self.v)) for c in range(dim)] for p in self.p]
        self.delta = [dot(o, g) for o, g in zip(self.out, self.dout)]

    def weights(self, q, keys):
        scores = [self.scale * dot(q, k) for k in keys]
        top = max(scores)
        e = [math.exp(s - top) for s in scores]
        return [x / sum(e) for x in e]

    def tokens(self, rank):
        return range(rank * self.rows, (rank + 1) * self.rows)

    def parts(self, i, j, delta):
        """(dq rows of rank i, dk rows and dv rows of block j) from this pair, with delta(row, block)."""
        zeros = lambda: [[0.0] * self.dim for _ in range(self.rows)]
        dq, dk, dv = zeros(), zeros(), zeros()
        for a, query in enumerate(self.tokens(i)):
            for b, key in enumerate(self.tokens(j)):
                weight = self.p[query][key]
                ds = self.scale * weight * (dot(self.dout[query], self.v[key]) - delta(query, j))
                for c in range(self.dim):
                    dq[a][c] += ds * self.k[key][c]
                    dk[b][c] += ds * self.q[query][c]
                    dv[b][c] += weight * self.dout[query][c]
        return dq, dk, dv

    def gradients(self, taken, delta=None):
        """(dq, dk, dv) of all tokens when rank i ends with the sum of the parts (queries of r, block j) for (r, j) in taken(i)."""
        delta = delta or (lambda row, block: self.delta[row])
        result = ([], [], [])
        for i in range(self.ranks):
            own = [self.parts(i, j, delta)[0] for j in range(self.ranks)]
            result[0].extend(added(own))
            for tensor in (1, 2):
                result[tensor].extend(added([self.parts(r, j, delta)[tensor] for r, j in taken(i)]))
        return result

    def delta_of_block(self, row, block):
        """The mistake: rowsum(dout * (P V of this block))."""
        return sum(self.p[row][key] * dot(self.dout[row], self.v[key]) for key in self.tokens(block))


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def added(matrices):
    return [[sum(values) for values in zip(*rows)] for rows in zip(*matrices)]


def error(got, want):
    """Size of the difference over size of what is right, both as root of the sum of squares."""
    return math.sqrt(sum((x - y) ** 2 for g, w in zip(got, want) for x, y in zip(g, w)) / sum(y * y for w in want for y in w))


def token_sum_error(got, want):
    """The same for the sums over all tokens, against the sums of absolute values."""
    return max(abs(sum(g) - sum(w)) / sum(map(abs, w)) for g, w in zip(zip(*got), zip(*want)))


def reversed_from_own(tokens=16, window=5):
    """(pairs computed, pairs visible) of a windowed backward pass that walks to the previous rank from the own block on."""
    visible = lambda i, j: sum(0 <= q - k <= window for q in layouts.positions("contiguous", tokens, RANKS, i)
                               for k in layouts.positions("contiguous", tokens, RANKS, j))
    hops = max(t for t in range(RANKS) if any(visible(i, (i - t) % RANKS) for i in range(RANKS)))
    walk = lambda direction: sum(visible(i, (i + direction * t) % RANKS) for i in range(RANKS) for t in range(hops + 1))
    assert walk(-1) == sum(visible(i, j) for i in range(RANKS) for j in range(RANKS))
    return walk(1), walk(-1)


def backward_mistakes():
    n = RANKS
    attention = Attention(n)
    right = attention.gradients(lambda i: [(r, i) for r in range(n)])
    assert all(abs(sum(column)) < 1e-12 for column in zip(*right[1]))  # token sums of dk vanish
    against = hands("against")[n]
    wrong = {
        # at step t rank r adds the part of block r - t to the sum in its hand, which it hands to r - 1
        "against": attention.gradients(lambda i: [((i + n - t) % n, (i + n - 2 * t) % n) for t in range(n)]),
        "stay": attention.gradients(lambda i: [(i, j) for j in range(n)]),
        "one short": attention.gradients(lambda i: [(r, (i + 1) % n) for r in range(n)]),
        "delta": attention.gradients(lambda i: [(r, i) for r in range(n)], attention.delta_of_block),
    }
    assert [sorted(parts) for _, parts in against] == [sorted(str((i + n - 2 * t) % n) for t in range(n)) for i in range(n)]
    e = {name: [error(g, w) for g, w in zip(got, right)] for name, got in wrong.items()}
    sums = max(token_sum_error(wrong[name][tensor], right[tensor]) for name in ("against", "stay", "one short") for tensor in (1, 2))
    assert max(e[name][0] for name in ("against", "stay", "one short")) < 1e-12 and e["delta"][2] < 1e-12 and sums < 1e-12
    mixed = sorted(set(against[0][1]))
    compute, dkv = 3, 2
    waited = n * (compute + dkv)  # schedule forward has n hops of gradients
    return table(["what is written", "what is true", f"the number ($N = {n}$)"], [
        ["K and V go one way, dK and dV the other; all meet again at home.", "A sum that leaves its block collects parts of other "
         f"blocks. With two ranks both ways are the same, and nothing shows.", f"rank 0 ends with parts of the blocks {' and '.join(mixed)}; "
         f"error of dK {e['against'][1]:.1f}"],
        ["dK += what this block gives, while K and V move on.", "Then a rank adds up what *its queries* give to *all* blocks, and "
         "no owner ever receives its share.", f"errors of dK, dV: {e['stay'][1]:.1f}, {e['stay'][2]:.1f}"],
        ["$N - 1$ hops carried the blocks around, so $N - 1$ hops carry the sums home.", "In schedule forward the sum is complete one rank "
         "before its owner.", f"the sum of block 2 ends on rank {next(i for i in range(n) if hands('forward')[n - 1][i][0] == '2')}"],
        ["Reverse everything: begin with the own block, hand it to the previous rank.", "Begin with the block that the forward pass held *last*. When starting from the own block, "
         "a window meets the wrong blocks, and without one the sums end one rank away from their owner.", "16 tokens, window 5: {} of {} pairs are computed".format(*reversed_from_own())],
        ["Compare the sums over all tokens: they agree.", "They agree in the first three mistakes above, and dQ does as well. Compare element by "
         "element, at the owner.", f"errors of the sums below 1e-12; of dK up to {max(e[name][1] for name in ('against', 'stay', 'one short')):.1f}"],
        ["delta belongs to the block: rowsum(dout · P V of the block).", "delta is the one of the whole row, from the final out. dV does not need it, "
         "so it does not show the mistake.", f"errors of dQ, dK, dV: {e['delta'][0]:.2f}, {e['delta'][1]:.2f}, {e['delta'][2]:.0f}"],
        ["Divide dK and dV by the number of ranks, as in data parallelism.", "A gradient is a sum over queries. If anything is divided, it is "
         "the loss.", f"factor {1 / n:g}"],
        ["The pass mirrors the forward pass, so its exchanges hide as well.", "Not if a rank waits for each hop of dK, dV at once.",
         f"$T_c = {compute}$, a hop of dK, dV {dkv}: schedule forward {waited} instead of {n * compute + dkv}, reversed {waited - dkv} instead of {n * compute}"],
    ])


# ---- the figure

def panel(x, walk, title):
    width = 62
    body = [text(x + 2 * width, 22, title, "bold")]
    colour = lambda digit: f"c{digit}"
    for rank in range(RANKS):
        body.append(text(x + (rank + 0.5) * width, 42, f"rank {rank}", "small"))
    for step, line in enumerate(hands(walk)):
        y = 50 + 46 * step
        for rank, (block, parts) in enumerate(line):
            left = x + rank * width
            body.append(box(left + 2, y, width - 4, 42, "card", 5))
            if block != "-":
                body += [box(left + 6, y + 4, width - 12, 16, colour(block), 3), text(left + width / 2, y + 16, f"K V {block}", "small ink")]
            for i, digit in enumerate(parts):
                body.append(box(left + 6 + i * 12.7, y + 24, 11.5, 13, colour(digit), 2))
    return body


def gradients_home():
    body, left = [], 62
    for i, (walk, title) in enumerate((("forward", "schedule forward"), ("reversed", "schedule reversed"), ("against", "sums against blocks"))):
        body += panel(left + 276 * i, walk, title)
    body += [text(left - 8, 76 + 46 * step, f"step {step}" if step < RANKS else "end", "small right") for step in range(RANKS + 1)]
    body.append(text(left + 400, 302, "Small squares: the parts in the sum that a rank holds. Colour: the block of keys that a part is the gradient of.", "small"))
    return svg(882, 312, "Where blocks and the sums of their gradients are, step by step, in two right schedules and a wrong one", body)


COMPUTED = {f.__name__: f for f in (backward_forward_steps, backward_reversed_steps, backward_buffers, backward_costs, backward_mistakes)}
FIGURES = {"gradients_home": gradients_home}
