"""Tables and the figure of lesson 202, from what the executor counted of rungs 01, 02 and 03."""
from drawing import box, svg, text
from lesson_pages import demo, rows
from tables import table

DEMO = demo(__file__)
TRAFFIC = "rung kernel global_KB sectors/access fewest shared_KB passes fewest"
BANKS = "banks of the 32 lanes in the first kernel of rung 02, counted from that of lane 0, line by line"
NAMES = {1: "`scores`", 2: "`softmax`", 3: "`values`"}
TILE = 32  # rows of a tile, lanes of a warp, and banks
RUNG_03_TILE = 64


def traffic():
    lines, sums = [], {}
    for rung, kernel, global_kb, sectors, fewest, shared_kb, *_ in rows(DEMO, TRAFFIC):
        name = "fused" if rung == 3 else NAMES[kernel]
        lines.append([f"0{rung}", name, global_kb, f"{sectors:.1f}", f"{fewest:.1f}", shared_kb])
        sums[rung] = sums.get(rung, 0) + global_kb
    whole = "; ".join(f"rung 0{rung}: {kb} KB" for rung, kb in sums.items())
    return table(["rung", "kernel", "KB asked of global memory", "sectors for an access", "at best", "KB of shared memory"], lines) + \
        f"\nAll kernels of a step together ask global memory for: {whole}.\n"


def shrunk():
    """Traffic of `scores` with global memory in the demo, in KB, part by part: rungs 01 and 02."""
    size, width, kb = 128, 64, 1024  # queries and keys, head_dim
    pairs, threads = size * size, (size // TILE) ** 2 * 256  # of all thread blocks of rung 02
    operands = pairs * 2 * width * 4 // kb
    written, ranges, question = pairs * 4 // kb, pairs * 2 * 4 // kb, threads * 2 * 4 // kb
    asked = {rung: global_kb for rung, kernel, global_kb, *_ in rows(DEMO, TRAFFIC) if kernel == 1}
    tiles = operands // TILE
    assert asked[1] == operands + written + ranges and asked[2] == tiles + written + ranges + question, asked
    return f"""The formula promises 1/{TILE}, and `scores` goes from {asked[1]} KB to {asked[2]} KB, a {asked[1] / asked[2]:.0f}th. The numbers of q and k do shrink to 1/{TILE}: from {operands} KB to {tiles} KB. The other accesses do not:
both rungs write {written} KB of $S$, and read `begin` and `end` for each pair, {ranges} KB; and every thread of rung 02 reads two of them once more, {question} KB, to see whether its tile has a visible
pair. With head_dim 64 these are {100 * (asked[2] - tiles) / asked[2]:.0f} % of what remains. (They are bytes that threads ask for; `end` of one row, read by a whole warp, is a single sector.)
"""


def barriers():
    return table(["", "all threads", "and nobody may"], [
        ["1", "fetch: every lane writes its numbers of both tiles", ""],
        ["", "`__syncthreads()`", "multiply before all have fetched"],
        ["2", "multiply: every lane reads numbers that others have fetched", ""],
        ["", "`__syncthreads()`", "fetch the next tiles before all have multiplied"],
    ])


def banks_of_column(stride):
    """The banks that lanes 0 to 31 meet in one column of a tile whose rows begin `stride` numbers apart."""
    return [stride * lane % TILE for lane in range(TILE)]


def seen_columns():
    """The reads of a column that the executor saw: all lanes in different rows."""
    reads = [line[1:] for line in rows(DEMO, BANKS) if line[0] == "reads"]
    columns = [banks for banks in reads if banks == banks_of_column(TILE + 1)]
    assert columns and all(banks in (banks_of_column(TILE + 1), [0] * TILE) for banks in reads), reads
    return columns[0]


def passes(banks):
    return max(banks.count(bank) for bank in banks)


def strides():
    return table(["rows begin", "lanes 0, 1, 2, 3 and 31 meet the banks", "passes"],
                 [[f"{stride} numbers apart", ", ".join(str(banks_of_column(stride)[lane]) for lane in (0, 1, 2, 3, 31)), passes(banks_of_column(stride))]
                  for stride in (32, 33, 34, 36, 40)])


def visited(tokens, window):
    """The tiles of keys that each thread block of rung 03 visits, by the two ends of its first and its last row."""
    result = []
    for row0 in range(0, tokens, RUNG_03_TILE):
        last = min(row0 + RUNG_03_TILE, tokens) - 1
        begin = max(row0 - window, 0) if window is not None else 0
        result.append([key // RUNG_03_TILE for key in range(begin // RUNG_03_TILE * RUNG_03_TILE, last + 1, RUNG_03_TILE)])
    return result


def walk():
    names = [("causal", None), ("causal, window 100", 100)]
    columns = [visited(320, window) for _, window in names]
    return table(["thread block, rows"] + [f"{name}: tiles of keys" for name, _ in names],
                 [[f"{i}, {64 * i} to {64 * i + 63}"] + [", ".join(map(str, column[i])) for column in columns] for i in range(len(columns[0]))])


def tile_mistakes():
    return table(["what is said", "what is true"], [
        ["A barrier after loading is enough.", "It protects the reading of this tile. The next load needs one of its own, or it overwrites what others still read."],
        ["It runs right on my GPU, so the barriers are right.", "A race shows when a warp is late. With one tile, or one warp, it never is."],
        ["`if (row >= rows) return;` in the first line.", "Right in lesson 201. Here the thread would be missing where its part of the tile is fetched, and a barrier that not all threads reach is a mistake."],
        ["Threads of a warp run together, so they need no barrier.", "Since 2017 they need not run together; where they must, `__syncwarp()` says so."],
        ["`__shfl_down_sync` gives the sum to all lanes.", "Lane 0 has it. `__shfl_xor_sync` gives it to all, in as many steps."],
        ["Bank conflicts hardly matter.", f"Rows 32 numbers apart: {passes(banks_of_column(32))} passes instead of {passes(seen_columns())}, for every read of the product."],
    ])


def figure():
    """Two maps of 32 lanes to 32 banks: a column of a tile with rows 32 and 33 numbers apart."""
    cell, left, top, body = 12, 96, 58, []
    for place, (banks, words) in enumerate([(banks_of_column(32), "rows 32 numbers apart"), (seen_columns(), "rows 33 numbers apart, as seen")]):
        x0 = left + place * (32 * cell + 90)
        body += [text(x0 + 16 * cell, top - 36, words, "bold"), text(x0 + 16 * cell, top - 14, "bank 0 to 31", "small"),
                 text(x0 - 10, top + 12, "lane 0", "small right"), text(x0 - 10, top + 32 * cell - 2, "lane 31", "small right"),
                 box(x0, top, 32 * cell, 32 * cell, "card", 2)]
        body += [box(x0 + bank * cell + 1, top + lane * cell + 1, cell - 2, cell - 2, f"c{0 if place else 3}", 2) for lane, bank in enumerate(banks)]
        count = passes(banks)
        body.append(text(x0 + 16 * cell, top + 32 * cell + 24, f"{count} pass{'es' if count > 1 else ''} over the banks", "small"))
    return svg(left + 2 * 32 * cell + 90 + 20, top + 32 * cell + 40, "Banks that the 32 lanes of a warp meet when they read a column of a tile", body)


COMPUTED = {f.__name__: f for f in (traffic, shrunk, barriers, strides, walk, tile_mistakes)}
FIGURES = {"tile_banks": figure}
