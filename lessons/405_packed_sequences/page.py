"""Tables and the figure of lesson 405, from what the demo prints."""
import re

import lesson_pages
from drawing import box, heat_map, svg, text
from tables import table

DEMO = lesson_pages.demo(__file__)
BORDERS = [0, 3, 4, 11, 16]
RANKS, TOKENS = 4, 16


def drawn():
    """Per query (lo, hi)."""
    rows = lesson_pages.rows(DEMO, "causal, cu_seqlens 0 3 4 11 16, 4 ranks: what each token sees")
    return [tuple(row[1:]) for row in rows]


def blocks():
    """(title, hops, bytes, pairs [step][rank]) in the order of the demo."""
    found = []
    for block in DEMO.split("\n\n"):
        lines = block.strip().split("\n")
        head = re.fullmatch(r"(.*): (\d+) hops, (\d+) bytes in all", lines[0])
        if head:
            found.append((head[1], int(head[2]), int(head[3]), [[int(word) for word in line.split()] for line in lines[1:]]))
    return found


def deals():
    return blocks()[:3]


def costs():
    """(text, dealt, layout) -> (hops, imbalance, cost in pairs, cost in tiles)."""
    rows = lesson_pages.rows(DEMO, "text, dealt, layout: hops, imbalance in percent, cost in pairs, cost in tiles of 64")
    return {tuple(row[:3]): tuple(row[3:]) for row in rows}


def packed_mask():
    rows = []
    for s in range(len(BORDERS) - 1):
        first, last = BORDERS[s], BORDERS[s + 1] - 1
        for p in sorted({first, last}):
            lo, hi = drawn()[p]
            rows.append([s if p == first else "", p, f"[{lo}, {hi})", hi - lo, p // (TOKENS // RANKS)])
    return "Causal, the first and the last token of each sequence:\n\n" + table(["sequence", "position", "[lo, hi)", "keys", "rank (contiguous)"], rows)


def alike():
    """Rank 1 of shards of four tokens, in the four packings of the demo."""
    rows = []
    for borders, (_, _, _, pairs) in zip(([0, 6, 8], [0, 3, 6, 8], [0, 1, 11, 12], [0, 2, 12]), blocks()[3:]):
        start = max(border for border in borders if border <= 4)
        end = min(border for border in borders if border > 4)
        own = sorted({0, 4} | {border - 4 for border in borders if 4 < border < 8})
        rows.append([f"`{' '.join(map(str, borders))}`", f"`{' '.join(map(str, own))}`", min(end, 8) - 4, end - start, 4 - start, pairs[0][1], f"**{pairs[1][1]}**"])
    assert rows[0][1:3] == rows[1][1:3] and rows[2][1:4] == rows[3][1:4]
    return table(["cu_seqlens", "borders inside rank 1", "its first sequence: tokens there", "in all", "before the shard", "pairs with its own block", "with block 0"], rows)


def dealt():
    names = {"paragraphs": "32 paragraphs", "pages": "8 pages"}
    words = {"as_one": "as one", "each": "each by itself"}
    layouts = {"contiguous": "contiguous", "zigzag": "chunk zig-zag"}
    best = {name: min(cost[3] for key, cost in costs().items() if key[0] == name) for name in names}
    rows = []
    for (name, how, layout), (hops, imbalance, in_pairs, in_tiles) in costs().items():
        shown = f"{in_tiles:.2f}"
        rows.append([names[name] if (how, layout) == ("as_one", "contiguous") else "", f"{layouts[layout]}, {words[how]}", hops, f"{imbalance:.1f} %",
                     f"{in_pairs:.2f}", f"**{shown}**" if in_tiles == best[name] else shown])
    return table(["text", "dealt", "hops", "imbalance", "cost in pairs", "cost in tiles of 64"], rows)


def paragraphs():
    """Their lengths, as the demo has them."""
    source = lesson_pages.marks.read(lesson_pages.marks.pathlib.Path(__file__).with_name("demo.cpp"))
    return [int(word) for word in re.search(r"kParagraphs = \{([^}]*)\}", source)[1].split(",")]


def packed_mistakes():
    lengths = paragraphs()
    longest, tokens, count = max(lengths), sum(lengths), len(lengths)
    contiguous, zigzag = deals()[0], deals()[2]
    each = costs()["paragraphs", "each", "zigzag"]
    whole = costs()["paragraphs", "as_one", "contiguous"]
    return table(["what is written", "what is true", "the number"], [
        ["Padding is simple, and costs a little.", "It costs whatever the longest sequence says, for all of them.",
         f"{count} paragraphs: {count} x {longest} = {count * longest} tokens instead of {tokens}"],
        ["Blocks other than the diagonal depend only on the first sequence that starts within the rank's block.",
         "That one has no pair in them. It is the sequence that began *before* the block, and how long before.", "the table above: 8 pairs or 2"],
        ["A causal ring needs $N - 1$ hops, a window of $W$ needs $\\lceil W/M \\rceil$.", "With packs that is the most: borders cut the reach.",
         f"16 tokens on 4 ranks, contiguous: {contiguous[1]} hop instead of 3"],
        ["Every sequence must be a multiple of $2N$.", "Chunks may be empty. Tokens that are left over go on where those of the sequence before ended.",
         f"sequences of 3, 1, 7 and 5 on 4 ranks: 4 tokens each, pairs {', '.join(str(sum(step[r] for step in zigzag[3])) for r in range(4))}"],
        ["A zig-zag inside each sequence balances the load.", "The pairs. Tiles and hops are another matter for short sequences.",
         f"32 paragraphs: pairs {each[2]:.2f}, tiles {each[3]:.2f}, {each[0]} hops; contiguous {whole[2]:.2f}, {whole[3]:.2f}, {whole[0]}"],
        ["The mask comes from the positions.", "From global ones. Positions that begin again at every border are for embeddings.",
         "`cu_seqlens` 0 3 4 11 16: token 9 has position 5 in its sequence"],
    ])


def packed_blocks():
    cell, left, top = 15, 60, 44
    body = [text(left + 8 * cell, 20, "the keys of each query", "bold"), text(left + 8 * cell, 36, "4 sequences, causal", "small")]
    for q, (lo, hi) in enumerate(drawn()):
        body.append(box(left, top + q * cell, TOKENS * cell, cell, "card", 0))
        for k in range(lo, hi):
            body.append(box(left + k * cell + 1, top + q * cell + 1, cell - 2, cell - 2, f"c{k // 4}", 1))
    for rank in range(RANKS):
        body.append(text(left - 8, top + (4 * rank + 2) * cell + 4, f"rank {rank}", "small right"))
        body.append(text(left + (4 * rank + 2) * cell, top + 16 * cell + 16, f"block {rank}", "small"))
        if rank:
            at = 4 * rank * cell
            body.append(f'<path d="M{left} {top + at}h{16 * cell}M{left + at} {top}v{16 * cell}" class="line"/>')
    largest = max(value for _, _, _, pairs in deals() for step in pairs for value in step)
    titles = ["contiguous", "chunk zig-zag, as one", "chunk zig-zag, each by itself"]
    for i, (title, (_, _, _, pairs)) in enumerate(zip(titles, deals())):
        body += heat_map(410 + 250 * (i % 2), 20 + 190 * (i // 2), title, pairs, largest)
    return svg(860, 380, "A packed mask on four ranks, and the pairs of each rank at each step", body)


COMPUTED = {f.__name__: f for f in (packed_mask, alike, dealt, packed_mistakes)}
FIGURES = {"masks/packed_blocks": packed_blocks}
