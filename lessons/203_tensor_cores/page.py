"""Tables and the figure of lesson 203: who holds which element, from registers that the executor filled; errors and traffic that it counted."""
from drawing import box, svg, text
from lesson_pages import demo, rows
from tables import table

DEMO = demo(__file__)
LANES = "lane by lane: 8 numbers of A, 4 of B from v, 4 of C; a number is 16 row + column"
RUNGS = "rung out_error lse_error out_error_with_inputs shared_KB passes fewest mma"
BANKS, BANK_BYTES, PIECE_BYTES = 32, 4, 16
TILE = 64
MMA = 16 * 8 * 16  # multiply-adds
SHOWN = 5  # the lane of the examples
# Multiply-adds of the demo's step: 128 queries, 128 keys, head_dim 64, two products.
STEP = 2 * 128 * 128 * 64


def held():
    """Of every lane [(row, column) of its numbers] of A, of a B loaded transposed, and of C, two numbers of a register side by side."""
    lanes = [[divmod(number, 16) for number in line] for line in rows(DEMO, LANES)]
    assert len(lanes) == 32
    for lane, numbers in enumerate(lanes):  # the rule of the page
        g, t = divmod(lane, 4)
        assert numbers[:8] == [(g + 8 * (i % 2), 2 * t + 8 * (i // 2) + n) for i in range(4) for n in range(2)]
        assert numbers[8:12] == [(2 * t + 8 * i + n, g) for i in range(2) for n in range(2)]
        assert numbers[12:] == [(g + 8 * (i // 2), 2 * t + i % 2) for i in range(4)]
    return [(numbers[:8], numbers[8:12], numbers[12:]) for numbers in lanes]


def place(cell):
    return f"({cell[0]}, {cell[1]})"


def one_lane():
    a, b, c = held()[SHOWN]
    pairs = [("$A$", a), ("$B$", b)]
    lines = [[f"{name}, register {i}", f"{place(cells[2 * i])} and {place(cells[2 * i + 1])}"] for name, cells in pairs for i in range(len(cells) // 2)]
    lines += [[f"$C$, register {i}", place(cell)] for i, cell in enumerate(c)]
    return table([f"lane {SHOWN}, $g = {SHOWN // 4}$, $t = {SHOWN % 4}$", "(row, column)"], lines)


def named_row(lane):
    """Row and column from which ldmatrix takes the 16 bytes that this lane names, for an operand A."""
    return lane % 16, lane // 16 * 8


def addresses():
    lines = []
    for matrix in range(4):
        named = [named_row(8 * matrix + i) for i in range(8)]
        first = held()[0][0][2 * matrix]  # lane 0 has the corner of the matrix
        assert named[0] == first
        lines.append([f"{8 * matrix} to {8 * matrix + 7}", f"{named[0][0]} to {named[-1][0]}", named[0][1], f"register {matrix}"])
    return table(["lanes", "rows", "from column", "arrives in"], lines)


def c_is_a():
    """Two accumulators of eight columns each, beside the operand A of sixteen."""
    a, _, c = held()[SHOWN]
    both = c + [(row, column + 8) for row, column in c]  # accumulators j and j + 1
    assert [cells[2 * i:2 * i + 2] for cells in (both,) for i in range(4)] == [a[2 * i:2 * i + 2] for i in range(4)]
    names = ["elements 0 and 1 of accumulator j", "elements 2 and 3 of accumulator j", "elements 0 and 1 of accumulator j + 1",
             "elements 2 and 3 of accumulator j + 1"]
    return table([f"of $C$, lane {SHOWN}", "(row, column)", "of $A$"],
                 [[name, f"{place(both[2 * i])} and {place(both[2 * i + 1])}", f"register {i}"] for i, name in enumerate(names)])


def rungs():
    return {line[0]: line[1:] for line in rows(DEMO, RUNGS)}


def rounding():
    names = {3: "03, float32", 4: "04, bf16 on tensor cores"}
    lines = [[names[rung], f"{rungs()[rung][1]:.1e}", f"{rungs()[rung][0]:.1e}", f"{rungs()[rung][2]:.1e}"] for rung in names]
    return table(["rung", "lse", "out", "out, with the rounding of q, k and v"], lines)


def intensity():
    lines = [[f"0{rung}", kb, mma, f"{STEP / (1024 * kb):.1f}"] for rung, (_, _, _, kb, _, _, mma) in rungs().items() if rung < 5]
    assert rungs()[4][6] * MMA == STEP
    return table(["rung", "KB of shared memory", "mma", "multiply-adds for a byte"], lines) + \
        f"\n{STEP} multiply-adds are {rungs()[4][6]} `mma` of {MMA}.\n"


def banks_of_rows(stride):
    """The first bank of eight rows of 16-bit numbers that begin `stride` numbers apart."""
    return [2 * stride * row // BANK_BYTES % BANKS for row in range(8)]


def passes(stride):
    """Passes of one 8 x 8 matrix: the most often asked bank, of four for each row."""
    asked = [(bank + i) % BANKS for bank in banks_of_rows(stride) for i in range(PIECE_BYTES // BANK_BYTES)]
    return max(asked.count(bank) for bank in range(BANKS))


def plain_banks():
    shown = [(64, "plain, head_dim to 64"), (128, "plain, head_dim to 128"), (72, "padded by 8 numbers")]
    lines = [[f"{stride} numbers apart", name, ", ".join(map(str, banks_of_rows(stride))), passes(stride)] for stride, name in shown]
    _, _, _, _, counted, fewest, _ = rungs()[4]
    writes = (rungs()[4][3] * 1024 - reads()) // 128  # 32 banks of 4 bytes
    assert counted == writes + passes(64) * (fewest - writes)
    return table(["rows begin", "", "first banks of eight rows", "passes"], lines) + \
        f"\nCounted for the step of the demo: rung 04 {counted} passes over the banks where {fewest} would do, rung 05 {rungs()[5][4]}.\n"


def reads():
    """Bytes that the fragments of the step are: q once by its own warp, K and V by all four, for each tile of keys."""
    tile = TILE * 64 * 2
    return 2 * 2 * (tile + 2 * 4 * tile)


def fragment_mistakes():
    return table(["what is said", "what is true"], [
        ["k must be transposed for $q k^T$.", "A column of $k^T$ is a row of k. It is v that is transposed on its way."],
        ["A lane gets from `ldmatrix` what its address points at.", f"Lane {SHOWN} names row {named_row(SHOWN)[0]} and gets numbers of row {held()[SHOWN][0][0][0]}."],
        ["Each thread computes some elements of $C$.", "The warp computes 128 together; a lane holds four of them, and needs what the others hold."],
        ["bf16 attention is inexact, so tests must be lax.",
         f"lse is as good as in float32, {rungs()[4][1]:.1e}; out is off by what rounding P does, {rungs()[4][0]:.1e}, and not more."],
        ["Tensor cores make shared memory matter less.", f"{STEP / (1024 * rungs()[4][3]):.1f} multiply-adds for a byte instead of "
         f"{STEP / (1024 * rungs()[3][3]):.1f}, but {passes(64)} passes where one would do."],
    ])


def grid(x0, y0, name, cells, height, width):
    """A matrix with the number of the lane in every element; `cells` says (row, column) -> (lane, register)."""
    cell = 25
    body = [text(x0 + width * cell / 2, y0 - 30, name, "bold")]
    body += [text(x0 + (j + 0.5) * cell, y0 - 6, j, "small") for j in range(width)]
    for i in range(height):
        body.append(text(x0 - 8, y0 + (i + 0.68) * cell, i, "small right"))
        for j in range(width):
            lane, register = cells[i, j]
            body += [box(x0 + j * cell + 1, y0 + i * cell + 1, cell - 2, cell - 2, f"c{register}", 3),
                     text(x0 + (j + 0.5) * cell, y0 + (i + 0.68) * cell, lane, "small ink" + (" bold" if lane == SHOWN else ""))]
    return body


def figure():
    """A, B and C with the lane that holds each element."""
    a, b, c = {}, {}, {}
    for lane, (of_a, of_b, of_c) in enumerate(held()):
        a |= {cell: (lane, i // 2) for i, cell in enumerate(of_a)}
        b |= {cell: (lane, i // 2) for i, cell in enumerate(of_b)}
        c |= {cell: (lane, i) for i, cell in enumerate(of_c)}
    top, body = 64, []
    body += grid(40, top, "A, 16 x 16", a, 16, 16)
    body += grid(500, top, "B, 16 x 8", b, 16, 8)
    body += grid(760, top, "C, 16 x 8", c, 16, 8)
    y = top + 16 * 25 + 22
    for i in range(4):
        body += [box(40 + i * 120, y, 20, 20, f"c{i}", 3), text(68 + i * 120, y + 15, f"register {i}", "small left")]
    body.append(text(540, y + 15, f"the number is that of the lane; lane {SHOWN} is bold", "small left"))
    return svg(980, y + 36, "Which lane holds which element of A, B and C", body)


COMPUTED = {f.__name__: f for f in (one_lane, addresses, c_is_a, rounding, intensity, plain_banks, fragment_mistakes)}
FIGURES = {"fragments": figure}
