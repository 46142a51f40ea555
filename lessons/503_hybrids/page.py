"""Tables and the figure of lesson 503."""
import lesson_pages
from drawing import box, svg, text
from tables import table

DEMO = lesson_pages.demo(__file__)
CROSSING = "blocks out of a node: 16 KV heads, forward and backward; 4 KV heads, likewise"
N, M = 16, 4  # ranks, and ranks of a node, of the demo's last table
G = N // M
HEADS, WIDTH = 16, 64


def walk(nodes, node, rank):
    """Sources of a double ring, step by step."""
    own, place = divmod(rank, node)
    return [(own - turn) % nodes * node + (place - inner) % node for turn in range(nodes) for inner in range(node)]


def grid_groups():
    lines = [line.split("  ") for line in DEMO.split("\n\n")[0].split("\n")[1:]]
    rows = [[words[0].strip(), ", ".join(words[-2].split()), ", ".join(words[-1].split())] for words in lines]
    for rank, row, column in rows:
        first = int(rank) // 4 * 4
        assert row == ", ".join(str(first + i) for i in range(4)) and column == f"{int(rank) % 4}, {int(rank) % 4 + 4}"
    return table(["rank", "row: heads are dealt", "column: a ring"], rows)


def sources():
    rows = lesson_pages.rows(DEMO, "6 ranks, nodes of 3: blocks of ranks 0 to 5 in each step")
    assert list(zip(*rows)) == [tuple(walk(2, 3, rank)) for rank in range(6)]
    return rows


def grid_walk():
    steps = lesson_pages.rows(DEMO, "rank 4 of them: block, inner to and from, outer to and from")
    none = lambda peer: "" if peer == -1 else peer
    return table(["step", "turn", "block", "inner: to", "from", "outer: to", "from"],
                 [[t, t // 3, step[0], *map(none, step[1:])] for t, step in enumerate(steps)])


def crossing():
    """Method -> blocks out of a node: [forward, backward] of 16 KV heads, then of 4."""
    result = {}
    for line in DEMO[DEMO.index(CROSSING) + len(CROSSING):].strip().split("\n"):
        words = line.split()
        result[" ".join(words[:-4])] = [float(word) for word in words[-4:]]
    return result


def parcels(ratio, ranks, far):
    """Blocks out of a rank for q, k, v, out and lse of an all-to-all of `ranks`, `far` of them on other nodes."""
    lse = HEADS / ranks / (2 * WIDTH * HEADS / ratio)  # one number per row and head, in blocks
    return far / ranks * (ratio + 1) + far * lse


def grid_crossing():
    counted, rows = crossing(), []
    forms = {
        "ring": ("$N - 1$", lambda ratio: N - 1),
        "all-gather": ("$M (N - M)$", lambda ratio: M * (N - M)),
        "double-ring": ("$N - M$", lambda ratio: N - M),
        "hybrid, head-first": ("$N - M$", lambda ratio: N - M),
        "hybrid, context-first": (r"$M \frac{G - 1}{G} (\rho + 1)$", lambda ratio: M * parcels(ratio, G, G - 1)),
        "ulysses": (r"$M \frac{N - M}{N} (\rho + 1)$", lambda ratio: M * parcels(ratio, N, N - M)),
    }
    for method, figures in counted.items():
        form, value = forms.get(method, ("", None))
        for kv_heads, figure in ((16, figures[0]), (4, figures[2])):
            if value and not (method == "ulysses" and kv_heads == 4):  # there KV heads are replicated
                assert abs(value(HEADS // kv_heads) - figure) < 0.006, (method, kv_heads, value(HEADS // kv_heads), figure)
        rows.append([method, form, *(f"{figure:.2f}".rstrip("0").rstrip(".") for figure in figures)])
    return table(["method", "forward, without lse", "16 KV heads: forward", "backward", "4 KV heads: forward", "backward"], rows)


def clocks(nodes, node, computing, inner, outer):
    """When the last rank of a double ring ends: its walk, played step by step. A turn of the next node begins when its block has come."""
    n = nodes * node
    clock = [0.0] * n
    for turn in range(nodes):
        left = list(clock)  # when each rank has posted the block that leaves the node
        for step in range(node):
            posted = list(clock)
            for rank in range(n):
                k, p = divmod(rank, node)
                to, come = k * node + (p + 1) % node, k * node + (p - 1) % node
                done = posted[rank] + computing
                if step + 1 < node:
                    done = max(done, max(posted[rank], posted[to]) + inner, max(posted[rank], posted[come]) + inner)
                clock[rank] = done
        if turn + 1 < nodes:
            ended = list(clock)
            for rank in range(n):
                for peer in ((rank + node) % n, (rank - node) % n):
                    clock[rank] = max(clock[rank], ended[rank], max(left[rank], left[peer]) + outer)
    return max(clock)


def ring_time(outer):
    return 1 + (N - 1) * max(1, outer)


def double_time(outer):
    return M + (G - 1) * max(M, outer)


def grid_times():
    rows = []
    for outer in (1, 2, 4, 8):
        assert clocks(G, M, 1, 1, outer) == double_time(outer) and clocks(N, 1, 1, 1, outer) == ring_time(outer)
        rows.append([outer, ring_time(outer), double_time(outer), double_time(M * outer)])
    return table(["seconds of a block on a slow link", "ring", "double ring, a network card per rank", "the same, one card for a node"], rows)


def grid_mistakes():
    counted = crossing()
    exact = lambda figure: f"{figure:g}"
    return table(["what is written", "what is true", "the number"], [
        ["A double ring sends fewer bytes over the slow links.", "Hardly. It gives each block a turn instead of a step, and uses all network cards of a node at once.",
         f"{N} ranks, nodes of {M}: {exact(counted['double-ring'][0])} blocks out of a node instead of {exact(counted['ring'][0])}, but {double_time(4)} s instead of {ring_time(4)}"],
        ["Ulysses belongs inside of the node.", "It cannot hide, so a fast link pays; but with as many KV heads as query heads, and many nodes, its bytes are fewer than the ring's.",
         f"blocks out of a node: head-first {exact(counted['hybrid, head-first'][0])}, context-first {exact(counted['hybrid, context-first'][0])}"],
        ["The hybrid removes the limit on heads.", "It moves it: the heads must still be dealt to a row.", "16 query heads and 4 KV heads: rows of 1, 2, 4, 8 or 16, and of 8 and 16 with copies of KV heads"],
        ["Groups number the ranks.", "Each group has its own numbers. Rank 6 of 8 is number 2 of its row of four and number 1 of its column.", "number 1 taken for a rank: rank 1 stands in another column, and another row"],
        ["The outer block may leave in any step of a turn.", "In the last one it has a step to get there, as in a plain ring.",
         f"slow blocks of 4 s: {M + (G - 1) * (M - 1 + 4)} s instead of {double_time(4)}"],
    ])


def figure():
    """The six steps of two nodes of three ranks: each rank with its block, and the arrows of that step."""
    body = ['<defs><marker id="tip" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
            '<path d="M0 0L8 4L0 8z" fill="#6b7686"/></marker></defs>']
    arrow = lambda path, cls: f'<path d="{path}" class="{cls}" marker-end="url(#tip)"/>'
    for t, blocks in enumerate(sources()):
        x, turn, inner = 20 + 145 * t, t // 3, t % 3
        body.append(text(x + 60, 20, f"step {t}", "bold"))
        for rank, block in enumerate(blocks):
            node, place = divmod(rank, 3)
            cx, cy = x + 75 * node, 40 + 62 * place
            body += [box(cx, cy, 46, 36, f"c{block // 3}", 5), text(cx + 23, cy + 15, f"rank {rank}", "small ink"), text(cx + 23, cy + 30, f"K V {block}", "small ink bold")]
            if inner < 2 and place < 2:
                body.append(arrow(f"M{cx + 23} {cy + 37}L{cx + 23} {cy + 60}", "thin"))
        if inner < 2:  # from the last place to the first
            body += [arrow(f"M{x + 75 * node - 2} 182C{x + 75 * node - 18} 182 {x + 75 * node - 18} 58 {x + 75 * node - 2} 58", "thin") for node in (0, 1)]
        if inner == 0 and turn == 0:
            body += [arrow(f"M{x + 46} {50 + 62 * place}L{x + 73} {50 + 62 * place}", "line") for place in range(3)]
    body += [text(435, 232, "Two nodes of three ranks. Thin arrows: blocks go around the node. Thick: in step 0 all leave for the other node as well (and back), to be there in step 3.", "small")]
    return svg(890, 245, "The walk of a double ring", body)


COMPUTED = {f.__name__: f for f in (grid_groups, grid_walk, grid_crossing, grid_times, grid_mistakes)}
FIGURES = {"double_ring": figure}
