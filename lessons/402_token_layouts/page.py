"""Tables and the figure of lesson 402."""
import lesson_pages
from drawing import heat_map, owner_strip, svg, text
from tables import table

DEMO = lesson_pages.demo(__file__)
LAYOUTS = ["contiguous", "striped", "zigzag-token"]
TITLES = {"contiguous": "contiguous", "striped": "striped", "zigzag-token": "token zig-zag"}
RANKS, TOKENS = 4, 16


def owners(layout):
    """The owner of each of the 16 tokens."""
    return next(row[1:] for row in lesson_pages.rows(DEMO, "owners of 16 tokens") if row[0] == layout)


def steps(layout):
    """Pairs [step][rank]."""
    return [row[1:] for row in lesson_pages.rows(DEMO, f"{layout}: pairs of ranks 0 to 3")]


def pairs(seqlen):
    """Layout -> (pairs of each rank, cost)."""
    rows = lesson_pages.rows(DEMO, f"{seqlen} tokens: pairs of ranks 0 to 3, synchronous cost")
    return {row[0]: (row[1:-1], row[-1]) for row in rows}


def imbalance(by_rank):
    return 100 * (1 - sum(by_rank) / len(by_rank) / max(by_rank))


def token_example():
    lines = []
    for layout in LAYOUTS[1:]:
        mine = [p for p, owner in enumerate(owners(layout)) if owner == 1]
        work = sum(p + 1 for p in mine)
        assert work == pairs(TOKENS)[layout][0][1]
        lines.append(f"* {TITLES[layout]}: rank 1 of {RANKS} owns the tokens {', '.join(map(str, mine))} of {TOKENS}, which see "
                     f"${' + '.join(str(p + 1) for p in mine)} = {work}$ keys;")
    return "\n".join(lines)[:-1] + ".\n"


def token_pairs():
    rows = []
    for seqlen in (16, 20, 22):
        for layout in LAYOUTS:
            by_rank, cost = pairs(seqlen)[layout]
            rows.append([seqlen if layout == LAYOUTS[0] else "", TITLES[layout], ", ".join(map(str, by_rank)), cost, f"{imbalance(by_rank):.1f} %"])
    shares = lambda seqlen: ", ".join(f"{imbalance(pairs(seqlen)[layout][0]):.2f} %" for layout in LAYOUTS)
    return (table(["tokens", "layout", "pairs of ranks 0 to 3", "cost", "imbalance"], rows) +
            f"\nThe same three imbalances for 4096 tokens: {shares(4096)}; for 4098, which 4 does not divide: {shares(4098)}.\n")


def tile_rows():
    title = "4096 tokens: ranks; cost over a fair share in pairs, in tiles of 64, of 128"
    return {(row[0], row[1]): row[2:] for row in lesson_pages.rows(DEMO, title)}


def token_tiles():
    costs = tile_rows()
    rows = [[n, 4096 // n, *(f"{costs[layout, n][unit]:.2f}" for layout in ("contiguous", "striped") for unit in (0, 1, 2))]
            for n in (4, 8, 16, 32)]
    assert all(abs(costs["striped", n][unit] - costs["zigzag-token", n][unit]) < 0.015 for n in (4, 8, 16, 32) for unit in (0, 1, 2))
    return table(["ranks", "$c$", "contiguous: pairs", "tiles of 64", "of 128", "token layouts: pairs", "tiles of 64", "of 128"], rows)


def zigzag_order(seqlen, ranks):
    """Positions, rank after rank."""
    place = lambda rank, a: a * ranks + (rank if a % 2 == 0 else ranks - 1 - rank)
    return [place(rank, a) for rank in range(ranks) for a in range(seqlen // ranks)]


def neighbours(seqlen, ranks):
    c, order = seqlen // ranks, zigzag_order(seqlen, ranks)
    return [sum(order[i + 1] == order[i] + 1 for i in range(rank * c, rank * c + c - 1)) for rank in range(ranks)]


def token_mistakes():
    order = zigzag_order(8, 4)
    leaks = sum(order[key] > order[query] for query in range(8) for key in range(query + 1))
    work = lambda positions: sum(p + 1 for p in positions)
    striped = ", ".join(str(work(range(rank, 8, 4))) for rank in range(4))
    zigzag = ", ".join(str(work(order[2 * rank:2 * rank + 2])) for rank in range(4))
    twenty = pairs(20)["zigzag-token"][0]
    costs = tile_rows()
    return table(["what is written", "what is true", "the number"], [
        ["Striped: rank 0 owns tokens 0 and 7 of 8.", "That is a zig-zag. Striped is 0 and 4.", f"pairs on 4 ranks: zig-zag {zigzag}, striped {striped}"],
        ["Only the order of the tokens changes, nothing else.", "The mask must follow positions. A triangle over the re-ordered rows lets "
         "queries see their future.", f"8 tokens, 4 ranks, zig-zag: {leaks} pairs leak"],
        ["The zig-zag leaves an imbalance of about 2 %.", "Exactly 0 for an even number of rounds; $N - 1$ pairs between the first and the last "
         "rank for an odd one.", f"16 tokens {imbalance(pairs(16)['zigzag-token'][0]):.0f} %; 20 tokens {', '.join(map(str, twenty))}: {imbalance(twenty):.1f} %"],
        ["It owns pairs of neighbours, so memory access is better than striped.", "Only on the first and the last rank.",
         f"neighbours within a shard, 64 tokens: {', '.join(map(str, neighbours(64, 4)))}"],
        ["The length must be a multiple of $N$.", "Any length works. Exact balance needs a multiple of $2N$; long sequences are balanced nearly as well without.",
         f"4098 tokens: imbalance {imbalance(pairs(4098)['zigzag-token'][0]):.2f} %"],
        ["Balanced in pairs is balanced in time.", "Kernels compute tiles.",
         f"16 ranks, 4096 tokens, tiles of 128: {costs['zigzag-token', 16][2]:.2f} times a fair share"],
    ])


def figure():
    body = []
    for i, layout in enumerate(LAYOUTS):
        y = 12 + 36 * i
        body += [text(150, y + 18, TITLES[layout], "right"), *owner_strip(165, y, 640, owners(layout))]
    body.append(text(485, 132, "each token in the colour of its owner", "small"))
    for i, layout in enumerate(LAYOUTS):
        body += heat_map(90 + 275 * i, 165, f"{TITLES[layout]}: pairs", steps(layout), 16)
    return svg(880, 325, "Three layouts of 16 tokens on 4 ranks, and the pairs of each rank at each step", body)


COMPUTED = {f.__name__: f for f in (token_example, token_pairs, token_tiles, token_mistakes)}
FIGURES = {"masks/token_layouts": figure}
