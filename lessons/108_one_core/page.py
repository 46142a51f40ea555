"""Tables and the figure of lesson 108."""
import re

import lesson_pages
from drawing import box, svg, text
from tables import table

DEMO = lesson_pages.demo(__file__)
TILES = lesson_pages.rows(DEMO, "tile         products  registers  numbers_read  read_per_product")
EXP = lesson_pages.rows(DEMO, "     x    n          r       exp(r)           fast_exp")
REGISTERS = {"SSE2, AVX2": 16, "AVX-512": 32}


def tile_shapes():
    fits = lambda registers: ", ".join(name for name, count in REGISTERS.items() if registers <= count) or "no x86 processor"
    rows = [[tile.replace("x", " x "), products, registers, fits(registers), read, f"{per:.2f}"]
            for tile, products, registers, read, per in TILES]
    return table(["registers wide x columns", "multiply-adds in a step", "registers needed", "fits", "reads in a step", "reads for each multiply-add"], rows)


def exp_parts():
    rows = [[f"{x:g}", f"{n:g}", f"{r:.4f}", f"{part:.6f}", f"{y:.6e}"] for x, n, r, part, y in EXP]
    return table(["$x$", "$z$ (in the demo n)", "$r$", "$e^r$, the polynomial's part", "$2^z e^r$"], rows)


def strip_sets():
    """The sets of a first-level cache that a strip of a matrix of 128 floats a row uses, and how many of its rows fit."""
    line, ways, sets, stride = 64, 8, 32 * 1024 // 64 // 8, 4 * 128
    used = lambda width, apart: len({(row * apart + byte) // line % sets for row in range(1024) for byte in range(0, width, line)})
    fits = lambda width, apart: used(width, apart) * ways * line // width
    rows = []
    for name, registers, register in (("2 x 6 with AVX2", 2, 32), ("4 x 6 with AVX-512", 4, 64)):
        width = registers * register
        rows.append([name, f"{width} bytes", f"{used(width, stride)} of {sets}", fits(width, stride), f"{used(width, width)} of {sets}", fits(width, width)])
    return (f"A cache of 32 KiB with {ways} ways has {sets} *sets* of {ways} lines, of {line} bytes each. The address selects the set: line $i$ of memory goes into set $i \\bmod {sets}$. A stride of "
            f"{stride} bytes is {stride // line} lines.\n\n"
            + table(["tile", "strip", "sets that the strip uses", "rows that fit", "sets that a panel uses", "rows that fit"], rows))


def reached():
    """Shares of the peak in the listing of `./ringcraft bench` on the page: the readable kernels, and those of this lesson."""
    page = lesson_pages.marks.read(lesson_pages.marks.pathlib.Path(__file__).with_name("README.md"))
    number = lambda pattern: [float(x) for x in re.findall(pattern, page, re.M)]
    peak, = number(r"^multiply-add peak of the core +([\d.]+) ")
    readable = [rate / peak for rate in number(r"^(?:forward|backward), head_dim \d+, full +([\d.]+) ")]
    fast, times = number(r"^108 \w+, head_dim \d+, full: of the peak +([\d.]+) "), number(r"^108 \w+, head_dim \d+, full: over 10[56] +([\d.]+) ")
    assert len(readable) == len(fast) == len(times) == 4
    span = lambda numbers: f"{min(numbers):.2f} to {max(numbers):.2f}"
    return (f"So with full masks the readable kernels reach {span(readable)} of the peak on this machine, and the kernels of this lesson {span(fast)}, {span(times)} times as much. "
            "The rest goes\nto softmax, to the tiles' edges, to copying into panels, and to loads that miss the first-level cache; how much to each, the listing does not say.\n")


def figure():
    body = [text(20, 24, "numbers read for each multiply-add of registers, by the shape of the tile", "left")]
    left, unit, top = 110, 300, 44
    colours = {"1x1": "c3", "4x12": "c3"}
    for i, (tile, _, registers, _, per) in enumerate(TILES):
        y = top + 34 * i
        spill = registers > max(REGISTERS.values())
        note = f"{per:.2f}" + (f", but {registers} registers: the sums go back to memory" if spill else f", {registers} registers")
        body += [text(left - 12, y + 18, tile.replace("x", " x "), "right"), box(left, y, per * unit, 24, colours.get(tile, "c0"), 2),
                 text(left + per * unit + 10, y + 17, note, "small left")]
    limit = left + 1 * unit
    bottom = top + 34 * len(TILES)
    body += [f'<path d="M{limit} {top - 6}V{bottom}" class="thin" stroke-dasharray="4 4"/>',
             text(limit, bottom + 16, "as many reads as multiply-adds: the limit of a core that does two of each in a cycle", "small")]
    return svg(860, bottom + 28, "Reads per multiply-add for five shapes of the register tile", body)


COMPUTED = {f.__name__: f for f in (tile_shapes, strip_sets, exp_parts, reached)}
FIGURES = {"register_tile": figure}
