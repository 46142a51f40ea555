"""Tables and the figure of lesson 108."""
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
    return table(["$x$", "$n$", "$r$", "$e^r$, the polynomial's part", "$2^n e^r$"], rows)


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


COMPUTED = {"tile_shapes": tile_shapes, "exp_parts": exp_parts}
FIGURES = {"register_tile": figure}
