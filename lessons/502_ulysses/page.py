"""Tables and the figure of lesson 502, from what the demo prints."""
import lesson_pages
from drawing import box, svg, text
from tables import table

DEMO = lesson_pages.demo(__file__)
TITLES = {"contiguous": "contiguous", "striped": "striped", "zigzag": "chunk zig-zag", "zigzag-token": "token zig-zag"}
HEADS, DIM, ROWS = 8, 16, 64


def heads(kv_heads, ranks):
    """Per rank (first and last query head, first and last KV head)."""
    return [tuple(row) for row in lesson_pages.rows(DEMO, f"{HEADS} query heads, {kv_heads} KV heads, {ranks} ranks: first and last of each")]


def run(first, last):
    return str(first) if first == last else f"{first}-{last}"


def ulysses_heads():
    rows = []
    for kv_heads, ranks in ((8, 4), (4, 4), (2, 4), (2, 8)):
        dealt = heads(kv_heads, ranks)
        assert [q for first, last, *_ in dealt for q in range(first, last + 1)] == list(range(HEADS))
        assert all(kv == [q * kv_heads // HEADS for q in queries] for queries, kv in (((q, q_last), [k, k_last]) for q, q_last, k, k_last in dealt))
        rows.append([kv_heads, ranks, ", ".join(run(*row[:2]) for row in dealt), ", ".join(run(*row[2:]) for row in dealt)])
    return table(["KV heads", "ranks", "query heads of ranks 0, 1, ...", "KV heads of ranks 0, 1, ..."], rows)


def ulysses_refused():
    sentences = [block.strip() for block in DEMO.split("\n\n") if block.startswith("ulysses: ")]
    assert len(sentences) == 2
    return "```text\n" + "\n\n".join(sentences) + "\n```\n"


def deals():
    """(layout, rank) -> (tokens, rows)."""
    lines = lesson_pages.rows(DEMO, "layout, rank: its tokens of 16, and the rows that they become")
    return {(line[0], line[1]): (line[2:6], line[6:]) for line in lines}


def ulysses_rows():
    rows = []
    for layout in TITLES:
        for rank in range(4):
            mine, joined = deals()[layout, rank]
            first = rank // 2 * 2
            both = sorted(p for r in (first, first + 1) for p in deals()[layout, r][0])
            assert joined == [both.index(p) for p in mine]
            after = [(rank - first) * 4 + a for a in range(4)]
            rows.append([TITLES[layout] if rank == 0 else "", rank, ", ".join(map(str, mine)), ", ".join(map(str, joined)), "the same" if after == joined else ", ".join(map(str, after))])
    return table(["layout", "rank", "tokens", "rows that they become", "one shard after another"], rows)


def costs():
    """(KV heads, ranks) -> passes, each (ring, Ulysses), each (elements, messages, peak)."""
    found = {}
    for kv_heads, ranks, *rest in lesson_pages.rows(DEMO, "KV heads, ranks; sent, messages, peak: forward ring, Ulysses; backward ring, Ulysses"):
        found[kv_heads, ranks] = [[tuple(rest[6 * p + 3 * m:6 * p + 3 * m + 3]) for m in range(2)] for p in range(2)]
    return found


def expected(kv_heads, ranks):
    """Elements of the ring and of Ulysses, and Ulysses' peak, by the formulas of the page."""
    q, lse = ROWS * HEADS * DIM, ROWS * HEADS
    ring = 2 * (ranks - 1) * ROWS * kv_heads * DIM
    ulysses = (ranks - 1) * (ROWS * DIM * (2 * HEADS + 2 * max(kv_heads, ranks)) + lse) // ranks
    return ring, ulysses, 5 * q + max(4 * q // ranks, 2 * lse + 2 * (q + lse) // ranks)


def ulysses_bytes():
    rows = []
    for (kv_heads, ranks), ((ring, own), _) in costs().items():
        want_ring, want_own, want_peak = expected(kv_heads, ranks)
        assert (ring[0], own[0]) == (want_ring, want_own) and own[1] == 5 * (ranks - 1)
        assert kv_heads < HEADS or own[2] == want_peak
        rows.append([kv_heads, ranks, ring[0], own[0], f"{ring[0] / own[0]:.2f}", ring[2], own[2]])
    return table(["KV heads", "ranks", "ring sends", "Ulysses sends", "ratio", "ring's peak", "Ulysses' peak"], rows)


def ulysses_mistakes():
    ring, ulysses, _ = expected(8, 4)
    lse = 3 * ROWS * HEADS // 4
    striped = deals()["striped", 0]
    grouped = costs()[2, 4][0]
    return table(["what is written", "what is true", "the number"], [
        ["A ring is an all-to-all, done in steps.", "It is an all-gather, done in steps: everyone gets the same blocks. In an all-to-all each pair has a parcel of its own.",
         f"4 ranks, $c = {ROWS}$, $H = {HEADS}$, $d = {DIM}$: {ring} elements against {ulysses - lse} (and {lse} for lse)"],
        ["Ulysses always moves fewer bytes than a ring.", "With equal heads, from 3 ranks on. With grouped heads q and out are more than the ring's keys and values.",
         f"2 KV heads, 4 ranks: {grouped[1][0]} elements against the ring's {grouped[0][0]}"],
        ["Concatenate what arrives.", "Right for contiguous shards alone.",
         f"striped, rank 0: tokens {', '.join(map(str, striped[0]))} become rows {', '.join(map(str, striped[1]))}, not 0, 1, 2, 3"],
        ["With fewer KV heads than ranks, repeat the KV heads so that all are equal.", "One head for each rank is enough: the run lies within a group.",
         f"2 KV heads, 4 ranks: {max(2, 4)} KV heads are sent, not {HEADS}"],
    ])


def grid(x, y, colour, title):
    """Rows down, heads across; the colour is the rank that holds the part."""
    cell = 26
    body = [text(x + 4 * cell, y - 30, title, "bold"), text(x + 4 * cell, y - 10, "heads 0 to 7", "small")]
    for row in range(8):
        body.append(text(x - 8, y + row * cell + 18, f"token {row}", "small right"))
        body += [box(x + head * cell + 1, y + row * cell + 1, cell - 2, cell - 2, f"c{colour(row, head)}", 2) for head in range(8)]
    return body


def figure():
    owner = [rank for rank, (first, last, *_) in enumerate(heads(8, 4)) for _ in range(first, last + 1)]
    body = grid(90, 60, lambda row, head: row // 2, "before: all heads of two tokens")
    body += grid(460, 60, lambda row, head: owner[head], "after: two heads of all tokens")
    body += ['<defs><marker id="tip" viewBox="0 0 8 8" refX="5" refY="4" markerWidth="5" markerHeight="5" orient="auto"><path d="M0 0L8 4L0 8z" fill="#6b7686"/></marker></defs>',
             '<path d="M312 150 L378 150" class="line" marker-end="url(#tip)"/>', text(345, 138, "q, k, v", "small"),
             '<path d="M378 190 L312 190" class="line" marker-end="url(#tip)"/>', text(345, 210, "out, lse", "small")]
    body += [box(730, 90 + 34 * rank, 22, 22, f"c{rank}", 3) + text(762, 106 + 34 * rank, f"rank {rank}", "small left") for rank in range(4)]
    return svg(860, 285, "The all-to-all of Ulysses: rows of a rank become heads of a rank", body)


COMPUTED = {f.__name__: f for f in (ulysses_heads, ulysses_refused, ulysses_rows, ulysses_bytes, ulysses_mistakes)}
FIGURES = {"ulysses": figure}
