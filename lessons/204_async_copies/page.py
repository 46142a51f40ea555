"""Tables and figures of lesson 204: schedules of copies and products, and what the executor counted of rungs 04 and 05."""
from drawing import box, lane, svg, text
from lesson_pages import demo, rows
from tables import table

DEMO = demo(__file__)
LAYOUTS = rows(DEMO, "layout: 0 plain, 1 padded, 2 swizzled; passes of the copies and of ldmatrix, with the fewest")
STEPS = {(rung, mask): counts for rung, mask, *counts in rows(DEMO, "rung mask full_tiles written_KB cp_async_KB mma mma_ahead passes fewest")}
TILE_KB, BLOCKS, WARPS, TILE_MMA = 8, 5, 4, 64  # of a tile of 64 x 64; thread blocks, warps of each, mma of a warp for a tile of keys
PIECES, TILES = 8, 4  # pieces of 16 bytes that fill the banks once; tiles of keys of the schedules


def one_stage(copy, product, tiles=TILES):
    """(start, length) of the copies and of the products if both use one place."""
    turn = copy + product
    return [(i * turn, copy) for i in range(tiles)], [(i * turn + copy, product) for i in range(tiles)]


def two_stages(copy, product, tiles=TILES):
    """The same where a copy starts with the product before it, and a turn with the end of both."""
    copies, products, now = [(0, copy)], [], copy
    for i in range(tiles):
        products.append((now, product))
        if i + 1 < tiles:
            copies.append((now, copy))
        now += max(copy, product) if i + 1 < tiles else product
    return copies, products


def length(schedule):
    return max(start + span for spans in schedule for start, span in spans)


def times():
    lines = []
    for copy, product in ((1, 4), (2, 4), (4, 4), (8, 4)):
        one, two = length(one_stage(copy, product)), length(two_stages(copy, product))
        lines.append([f"{copy / product:g}", one, two, f"{one / two:.2f}"])
    return table(["a copy, in products", "one stage", "two stages", "ratio"], lines)


def counted():
    names = ["KB written into shared memory", "of these by `cp.async`", "`mma` of warps", "of these while a copy is under way", "passes over the banks", "at best"]
    return table(["", "rung 04", "rung 05"], [[name, STEPS[4, 0][i + 1], STEPS[5, 0][i + 1]] for i, name in enumerate(names)])


def place(row, piece):
    return piece ^ row % PIECES


def places():
    """Where the pieces of the first rows lie."""
    return table(["row"] + [f"piece {p}" for p in range(PIECES)], [[row] + [place(row, p) for p in range(PIECES)] for row in (0, 1, 2, 3, 7, 8)])


def layouts():
    names = ["plain", "padded by a piece", "swizzled"]
    return table(["rows of 64 numbers lie", "bytes from row to row", "passes of the copies", "passes of `ldmatrix`", "at best"],
                 [[names[number], 144 if number == 1 else 128, copies, loads, fewest] for number, copies, _, loads, fewest in LAYOUTS])


def tiles():
    names, lines = ["none", "causal", "causal, window 100", "causal, packed 130 + 20 + 170"], []
    for mask, name in enumerate(names):
        full, _, copied, products, *_ = STEPS[5, mask]
        copied_tiles = (copied - BLOCKS * TILE_KB) // (2 * TILE_KB)
        before = STEPS[4, mask][3] // TILE_MMA
        lines.append([name, copied_tiles * WARPS, before, products // TILE_MMA, full * WARPS])
    return table(["mask", "copied, for its warps", "multiplied by rung 04", "multiplied by rung 05", "of these not masked"], lines)


def copy_mistakes():
    plain, swizzled = LAYOUTS[0], LAYOUTS[2]
    return table(["what is said", "what is true"], [
        ["`cp.async` makes the copy faster.", "The transfer itself is no faster; but no thread has to wait for it. A thread that waits at once gains a register or two and no time."],
        ["The wait is enough.", "A thread waits for its own copies, and reads those of others. A barrier must follow the wait."],
        ["`wait_group 1` waits for one group.", "It waits until at most one is under way: the newest may be."],
        ["Two stages need two barriers in each turn.", "One is enough, if the next copy starts after it: the barrier says both that this tile is there and that the other stage is free."],
        ["Padding does not help here.", f"It does: {LAYOUTS[1][3]} passes as well. It costs an eighth more shared memory, and a swizzle costs none."],
        ["A swizzle must be undone.", "Copy and load ask the same function for the place; no other code knows about it."],
        ["Bank conflicts of `ldmatrix` are hidden by the copies.", f"{plain[3]} passes instead of {swizzled[3]}, and a warp waits for them before its `mma`."],
    ])


def pipeline():
    """Copies and products of four tiles, with one stage and with two."""
    copy, product, unit, left, body = 3, 4, 22, 150, []
    for y, (name, schedule) in zip((30, 150), (("one stage", one_stage(copy, product)), ("two stages", two_stages(copy, product)))):
        copies, products = schedule
        body += [text(left, y, name, "bold left")]
        body += lane(y + 12, "copy", [(start, span, f"tile {i}") for i, (start, span) in enumerate(copies)], "c0", unit, left)
        body += lane(y + 42, "multiply", [(start, span, f"tile {i}") for i, (start, span) in enumerate(products)], "c1", unit, left)
        body.append(text(left + length(schedule) * unit, y + 84, f"{length(schedule)} units", "small right"))
    return svg(left + length(one_stage(copy, product)) * unit + 20, 250, "Copies and products of four tiles of keys, with one stage and with two", body)


def swizzle():
    """Eight rows of eight pieces: where each lies, plain and swizzled, and piece 2 of all rows in colour."""
    cell, left, top, seen, body = 38, 70, 62, 2, []
    for number, (name, where) in enumerate((("plain", lambda row, p: p), ("swizzled", place))):
        x0 = left + number * (PIECES * cell + 80)
        body.append(text(x0 + PIECES * cell / 2, 22, name, "bold"))
        body += [text(x0 + (p + 0.5) * cell, top - 10, f"{4 * p}-{4 * p + 3}", "small") for p in range(PIECES)]
        body.append(text(x0 - 8, top - 10, "banks", "small right"))
        for row in range(PIECES):
            body.append(text(x0 - 8, top + row * 30 + 19, f"row {row}", "small right"))
            for p in range(PIECES):
                x = x0 + where(row, p) * cell
                body += [box(x + 1, top + row * 30, cell - 2, 28, "c3" if p == seen else "card", 3),
                         text(x + cell / 2, top + row * 30 + 19, p, "small ink" if p == seen else "small")]
        banks = len({where(row, seen) for row in range(PIECES)})
        body.append(text(x0 + PIECES * cell / 2, top + PIECES * 30 + 22, f"piece {seen} of eight rows: {PIECES // banks} pass{'es' if banks == 1 else ''}", "small"))
    return svg(left + 2 * PIECES * cell + 80 + 20, top + PIECES * 30 + 38, "Which piece of a row lies in which banks, plain and swizzled", body)


COMPUTED = {f.__name__: f for f in (times, counted, places, layouts, tiles, copy_mistakes)}
FIGURES = {"copy_pipeline": pipeline, "swizzle": swizzle}
