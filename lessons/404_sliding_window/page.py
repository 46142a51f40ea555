"""Tables and the figure of lesson 404."""
import lesson_pages
from drawing import box, svg, text
from tables import table

DEMO = lesson_pages.demo(__file__)
RANKS, ROWS = 5, 4
TITLES = {"contiguous": "contiguous", "striped": "striped", "zigzag-token": "token zig-zag", "zigzag": "chunk zig-zag"}
KINDS = ["triangle", "full", "cut", "corner"]
LAYOUT_ROWS = "8 ranks of 16 tokens, window of 8: hops, needed moves, blocks per rank, cost"


def visible(q, k, window, borders=()):
    return 0 <= q - k <= window and not any(k < border <= q for border in borders)


def pairs(rank, source, rows, window, borders=()):
    """Visible pairs of a rank and a block, both of `rows` tokens."""
    shard = lambda r: range(r * rows, (r + 1) * rows)
    return sum(visible(q, k, window, borders) for q in shard(rank) for k in shard(source))


def block(window, step):
    """The pattern of a block as lines of # and ., and the calls that compute it."""
    lines = DEMO.split("\n")
    first = lines.index(f"window of {window}, step {step}: rows of rank 4, keys of block {4 - step}") + 1
    rows, calls = lines[first:first + ROWS], []
    for line in lines[first + ROWS:]:
        if not line.startswith("attend"):
            break
        calls.append(line)
    return rows, calls


def reaches():
    """Window -> (hops, reach of each block)."""
    rows = lesson_pages.rows(DEMO, "5 ranks of 4 tokens: window, hops, reach of blocks 0 to 4")
    return {row[0]: (row[1], row[2:]) for row in rows}


def steps():
    """Pairs [step][rank] for a window of 9."""
    return lesson_pages.rows(DEMO, "window of 9: pairs of ranks 0 to 4 in each step")


def window_reaches():
    rows = []
    for window, (hops, reach) in reaches().items():
        assert hops == max(reach) == min(-(-window // ROWS), RANKS - 1)
        assert reach == [min(hops, RANKS - 1 - s) for s in range(RANKS)]
        rows.append([window, window + 1, hops, ", ".join(map(str, reach))])
    return table(["$W$", "keys of a late row", "$C$", "reach of blocks 0 to 4"], rows)


def window_blocks():
    rows = []
    for step, kind in enumerate(KINDS):
        pattern, calls = block(9, step)
        delta = 9 - step * ROWS
        pairs = sum(line.count("#") for line in pattern)
        assert pairs == steps()[step][RANKS - 1]
        rows.append([step, "" if step == 0 else delta, kind, pairs, "<br>".join(f"`{call[len('attend('):-1]}`" for call in calls)])
    return table(["step $t$", "$\\delta$", "pattern", "pairs", "the call"], rows)


def window_idle():
    pairs = steps()
    visible, cost = sum(map(sum, pairs)), sum(max(step) for step in pairs)
    blocks = [sum(step[r] > 0 for step in pairs) for r in range(RANKS)]
    hops = len(pairs) - 1
    assert blocks == [min(r, hops) + 1 for r in range(RANKS)]
    idle = [hops + 1 - count for count in blocks]
    return table(["", *(f"rank {r}" for r in range(RANKS))],
                 [[f"step {t}", *step] for t, step in enumerate(pairs)] + [["steps without work", *idle]]) + (
        f"\n{visible} visible pairs. If every step takes as long as its slowest rank, {RANKS} ranks have time for ${RANKS} \\cdot {cost} = {RANKS * cost}$: "
        f"{100 * visible / (RANKS * cost):.1f} % are used.\n")


def window_corner():
    m = 8
    rows = [[w, w, pairs(1, 0, m, w), sum(m - a for a in range(m))] for w in (1, 3, 7, 8)]
    assert all(count == u * (u + 1) // 2 for _, u, count, _ in rows)
    return table(["$W$", "$u$", "visible pairs", "pairs of `window_size=(0, -1)` on the whole block"], rows)


def layouts():
    return {row[0]: row[1:] for row in lesson_pages.rows(DEMO, LAYOUT_ROWS)}


def window_layouts():
    return table(["layout", "hops", "moves that are needed", "blocks of others that a rank needs, on average", "cost in pairs"],
                 [[TITLES[layout], hops, moves, f"{needed:.2f}", cost] for layout, (hops, moves, needed, cost) in layouts().items()])


def ways_back(window):
    """Hops, all visible pairs, and those of the blocks r - C to r and r to r + C."""
    hops = min(-(-window // ROWS), RANKS - 1)
    met = lambda first: sum(pairs(r, (r + first + t) % RANKS, ROWS, window) for r in range(RANKS) for t in range(hops + 1))
    return hops, sum(pairs(r, s, ROWS, window) for r in range(RANKS) for s in range(RANKS)), met(-hops), met(0)


def window_back():
    rows = [[window, *ways_back(window)] for window in (3, 6, 9, 99)]
    assert all(row[2] == row[3] for row in rows) and rows[-1][3] == rows[-1][4]
    return table(["$W$", "$C$", "visible pairs", "met from block $r - C$ on", "met from block $r$ on"], rows)


def window_mistakes():
    packed = [(borders, pairs(1, 0, 4, 8, borders)) for borders in ((0, 6, 8), (0, 3, 6, 8))]
    lists = " and ".join(", ".join(map(str, borders)) for borders, _ in packed)
    hops, every, _, from_own = ways_back(9)
    return table(["what is written", "what is true", "the number"], [
        ["A ring with a window of $W$ needs $\\lceil W/M \\rceil$ hops.", "Only if $W$ keys *before* the query are meant. If $W$ counts the query's own key, it is "
         "$\\lceil (W-1)/M \\rceil$.", f"$W = 5$, $M = 4$: {reaches()[5][0]} hops against {reaches()[4][0]}"],
        ["The upper-right block is a call with `window_size=(0, -1)`.", "On the corner of $u \\times u$ alone. On the whole block it is right only if $M$ divides $W$.",
         f"$M = 8$, $W = 3$: {8 * 9 // 2} pairs instead of {pairs(1, 0, 8, 3)}"],
        ["The load is balanced, apart from the first ranks.", "Balanced if $C$ is much smaller than $N$; a window of the whole sequence is plain causal.",
         "the table of steps above"],
        ["The backward pass is the same with all directions reversed.", "If it begins with the block that the *forward pass ended with*, $r - C$. From the own block it "
         "meets the wrong ones.", f"$W = 9$, $C = {hops}$: {from_own} of {every} pairs"],
        ["With packed sequences the length of the first sequence on the rank is enough.", "A rank also needs to know how many tokens of it lie on the ranks before.",
         f"`cu_seqlens` {lists}, 2 ranks of 4 tokens, $W = 8$: rank 1 has the same two lengths, and {packed[0][1]} or {packed[1][1]} pairs with block 0"],
        ["A zig-zag balances windows as well.", "The next chunk may lie on the rank before, which is the farthest one.",
         f"8 ranks, $W = M/2$: {layouts()['zigzag'][0]} hops against {layouts()['contiguous'][0]}"],
    ])


def figure():
    cell, body = 26, []
    for step, kind in enumerate(KINDS):
        pattern, calls = block(9, step)
        x, y = 40 + 205 * step, 60
        body.append(text(x + ROWS * cell / 2, 24, f"step {step}: {kind}", "bold"))
        body.append(text(x + ROWS * cell / 2, 46, f"keys of block {4 - step}", "small"))
        body.append(box(x, y, ROWS * cell, ROWS * cell, "card", 2))
        for a, line in enumerate(pattern):
            for b, mark in enumerate(line):
                if mark == "#":
                    body.append(box(x + b * cell + 1, y + a * cell + 1, cell - 2, cell - 2, f"c{step}", 2))
    body.append(text(430, 190, "window of 9, shards of 4 tokens: what the rows of rank 4 (down) see of the keys of each block (across)", "small"))
    return svg(860, 205, "The four patterns of a window over contiguous shards", body)


COMPUTED = {f.__name__: f for f in (window_reaches, window_blocks, window_idle, window_corner, window_layouts, window_back, window_mistakes)}
FIGURES = {"masks/window_blocks": figure}
