"""Tables and the figure of lesson 403."""
import lesson_pages
from drawing import box, owner_strip, svg, text
from tables import table

DEMO = lesson_pages.demo(__file__)
LAYOUTS = ["contiguous", "striped", "zigzag-token", "zigzag"]
TITLES = {"contiguous": "contiguous", "striped": "striped", "zigzag-token": "token zig-zag", "zigzag": "chunk zig-zag"}
MASKS = {"causal": "causal", "window_128": "window of 128", "window_1024": "window of 1024", "4_documents": "4 documents of 1024",
         "8_documents": "8 documents of 512", "32_documents": "32 documents of 128"}


def ragged_chunks():
    """(begin, end) of the early and of the late chunk of each rank, 22 tokens on 4 ranks."""
    rows = lesson_pages.rows(DEMO, "22 tokens on 4 ranks: the two chunks of each rank")
    return [((row[1], row[2]), (row[3], row[4])) for row in rows]


def pairs(seqlen):
    """Layout -> (pairs of each rank, cost)."""
    rows = lesson_pages.rows(DEMO, f"{seqlen} tokens: pairs of ranks 0 to 3, synchronous cost")
    return {row[0]: (row[1:-1], row[-1]) for row in rows}


def ends(rank, source, layout):
    """Keys of the block that each row sees, counted from the first."""
    rows = lesson_pages.rows(DEMO, f"32 tokens: keys that each row of rank {rank} sees of block {source}")
    return next(row[1:] for row in rows if row[0] == layout)


def costs():
    """(mask, ranks, tile) -> layout -> (hops, cost in pairs, cost in tiles)."""
    printed = ["contiguous", "striped", "zigzag", "zigzag-token"]
    result = {}
    for mask, ranks, tile, *numbers in lesson_pages.rows(
            DEMO, "4096 tokens: mask, ranks, tile; hops, cost in pairs, cost in tiles for each layout"):
        result[mask, ranks, tile] = {layout: tuple(numbers[3 * i:3 * i + 3]) for i, layout in enumerate(printed)}
    return result


def imbalance(by_rank):
    return 100 * (1 - sum(by_rank) / len(by_rank) / max(by_rank))


def chunk_cut():
    rows = [[rank, f"[{early[0]}, {early[1]})", f"[{late[0]}, {late[1]})", early[1] - early[0] + late[1] - late[0]]
            for rank, (early, late) in enumerate(ragged_chunks())]
    return table(["rank", "early chunk", "late chunk", "rows"], rows)


def chunk_pairs():
    rows = []
    for seqlen in (16, 20, 22):
        for layout in LAYOUTS:
            by_rank, cost = pairs(seqlen)[layout]
            rows.append([seqlen if layout == LAYOUTS[0] else "", TITLES[layout], ", ".join(map(str, by_rank)), cost, f"{imbalance(by_rank):.1f} %"])
    return table(["tokens", "layout", "pairs of ranks 0 to 3", "cost", "imbalance"], rows)


def chunk_costs():
    rows = []
    for (mask, ranks, tile), by_layout in costs().items():
        best = min(cost for _, _, cost in by_layout.values())
        cells = []
        for layout in LAYOUTS:
            hops, in_pairs, in_tiles = by_layout[layout]
            shown = f"{in_tiles:.2f}"
            cells.append(f"{hops} / {in_pairs:.2f} / {f'**{shown}**' if in_tiles == best else shown}")
        rows.append([MASKS[mask], ranks, tile, *cells])
    return table(["mask", "ranks", "tile", *(TITLES[layout] for layout in LAYOUTS)], rows)


def chunk_mistakes():
    split = lambda n, parts: [n // parts + (g < n % parts) for g in range(parts)]
    rounded = [max(0, min(3, 18 - 3 * g)) for g in range(8)]
    ranks, tokens = 4, 16
    chunks = [list(range(2 * g, 2 * g + 2)) for g in range(8)]
    unflipped = [sum(p + 1 for p in chunks[r] + chunks[r + ranks]) for r in range(ranks)]
    visible = tokens * (tokens + 1) // 2
    # The work if only whole blocks are skipped: shards of 4 x 4, for the chunk zig-zag chunks of 2 x 2.
    whole = {"contiguous": ranks * (ranks + 1) // 2 * 16, "token zig-zag": ranks * ranks * 16, "chunk zig-zag": 8 * 9 // 2 * 4}
    waste = ", ".join(f"{name} {100 * (1 - visible / count):.1f} %" for name, count in whole.items())
    documents = costs()["4_documents", 8, 64]["zigzag"]
    window = costs()["window_128", 8, 64]
    return table(["what is written", "what is true", "the number"], [
        ["Zig-zag: tokens $i$, $2N-1-i$, $2N+i$, ..., or first chunk and last chunk, as if these were one.",
         "Two layouts. The same pairs for even $c$, not the same tiles.", "rank 0 of 4, 16 tokens: 0, 7, 8, 15 against 0, 1, 14, 15"],
        ["Rank $r$ owns chunks $r$ and $r + N$.", "Results stay right, so no comparison of values finds it. The balance is gone.",
         f"pairs, 16 tokens: {', '.join(map(str, unflipped))} instead of 34 each"],
        ["The contiguous layout wastes work on masked pairs, the zig-zag hardly any.", "If whole blocks are skipped, the *token* zig-zag wastes most: "
         "no block of it is empty.", f"16 tokens, wasted: {waste}"],
        ["The zig-zag is strictly better.", "For long causal sequences. Under windows it needs all hops, and its steps are uneven under windows and documents.",
         f"window of 128: {window['zigzag'][0]} hops against {window['contiguous'][0]}; 4 documents: cost {documents[1]:.2f} of a fair share"],
        ["The length must be a multiple of $2N$.", "Chunks may differ by a token, and may be empty.",
         f"22 tokens in 8 chunks: {', '.join(map(str, split(22, 8)))}"],
        ["A fixed chunk length, rounded up; the last chunk takes what is left.", "The last chunks may be empty while the others are full: shards differ by a whole chunk.",
         f"18 tokens, chunks of 3: {', '.join(map(str, rounded))}; rows of the ranks {', '.join(str(rounded[r] + rounded[7 - r]) for r in range(4))}"],
    ])


def gathered():
    heads, kv_heads = 128, 8  # Llama 3 405B, arXiv:2407.21783, table 3
    documents = costs()["4_documents", 8, 64]["zigzag"]
    ratio = heads // (2 * kv_heads)
    chunk = lambda g: sum(p % 1024 + 1 for p in range(256 * g, 256 * (g + 1)))  # visible keys of a chunk, 4096 tokens on 8 ranks
    assert len({chunk(rank) + chunk(15 - rank) for rank in range(8)}) == 1
    return f"""Llama 3 was trained with this layout, but without a ring ([arXiv:2407.21783](https://arxiv.org/abs/2407.21783), section 3.3.2). Of $2 N$ chunks, rank $i$ gets $i$ and
$2 N - 1 - i$. Each rank first *all-gathers* K and V, and then computes its own queries against all keys. The latency of that all-gather is not hidden. The report accepts it
for two reasons: an all-gather supports other masks more easily, document masks above all; and it is short. With grouped heads K and V are small, in the largest model, with {heads} query
heads on {kv_heads} KV heads, together 1/{ratio} of Q; and the all-gather grows with $S$, attention with $S^2$. The price is memory: each rank holds K and V of all ranks instead of three blocks.

After an all-gather a rank waits for no other, so only the total work of each rank counts. For the four documents of the table these totals are equal: the factor {documents[1]:.2f} is that
of a ring, whose steps are uneven.
"""


def grid(x, y, columns, cell, cls):
    size = len(columns)
    body = [box(x, y, size * cell, size * cell, "card", 2)]
    for a, count in enumerate(columns):
        if count:
            body.append(box(x + 1, y + a * cell + 1, count * cell - 2, cell - 2, cls, 1))
    return body


def figure():
    owner = {p: rank for rank, pair in enumerate(ragged_chunks()) for begin, end in pair for p in range(begin, end)}
    body = [text(440, 18, "chunk zig-zag: 22 tokens in 8 chunks on 4 ranks, in the colours of their owners", "small"),
            *owner_strip(120, 28, 640, [owner[p] for p in range(22)])]
    for g, chunk in enumerate(sorted(chunk for pair in ragged_chunks() for chunk in pair)):
        middle = 120 + (chunk[0] + chunk[1]) / 2 * 640 / 22
        body.append(text(middle, 72, f"chunk {g}", "small"))
    body.append(text(440, 108, "32 tokens on 4 ranks: what 8 rows (down) see of the 8 keys of a block (across)", "small"))
    for i, layout in enumerate(LAYOUTS):
        x = 190 + 172 * i
        body.append(text(x + 52, 132, TITLES[layout], "bold"))
        body += grid(x, 142, ends(2, 1, layout), 13, "c2")
        body += grid(x, 262, ends(1, 2, layout), 13, "c3")
    body += [text(170, 192, "rank 2, block 1:", "small right"), text(170, 208, "an earlier rank", "small right"),
             text(170, 312, "rank 1, block 2:", "small right"), text(170, 328, "a later rank", "small right")]
    return svg(880, 380, "Chunks of a zig-zag, and the shape of the visible part of a block in four layouts", body)


COMPUTED = {f.__name__: f for f in (chunk_cut, chunk_pairs, chunk_costs, gathered, chunk_mistakes)}
FIGURES = {"masks/chunk_layouts": figure}
