"""Tables and the figure of lesson 205, from what the executor counted of the merge kernels and of rung 03."""
import math
import random
import struct

from drawing import box, svg, text
from lesson_pages import demo, rows
from tables import table

DEMO = demo(__file__)
HEAD = "kernel     array   does   requests  bytes sectors    0    1    2   15   16   31"
ROWS, WIDTH, LANES, SECTOR = 128, 64, 16, 8
NUMBERS = ROWS * WIDTH  # of O


def seen(kernel):
    """{(array, does): (requests, bytes, sectors, places of lanes 0, 1, 2, 15, 16 and 31)} of a kernel."""
    return {(array, does): tuple(rest) for name, array, does, *rest in rows(DEMO, HEAD) if name == kernel}


def moved_by(kernel, arrays):
    """Bytes of sectors that a kernel moves of these arrays."""
    return 32 * sum(line[2] for (array, _), line in seen(kernel).items() if array in arrays)


def traffic():
    lines = []
    for kernel, words in (("merge", "`merge`"), ("normalized", "`merge_normalized`"), ("carrying", "rung 03, which carries")):
        for (array, does), (requests, count, sectors, *_) in seen(kernel).items():
            name = {"block_O": "$O$ of the block", "block_m": "$m$ of the block", "block_l": "$l$ of the block"}.get(array, f"${array}$")
            if kernel == "normalized":
                name = name.replace("$O$", "out").replace("$m$", "lse")
            lines.append([words, name, does, count, 32 * sectors, f"{32 * sectors / NUMBERS:.2f}"])
    return table(["kernel", "array", "", "bytes that its threads ask for or write", "bytes moved, in sectors of 32", "for each number of $O$"], lines)


def ways():
    """Traffic of a ring's step, of its result and of the state."""
    written, own = moved_by("merge", ["O", "block_O"]), moved_by("carrying", ["O"])
    result = 32 * seen("carrying")["O", "writes"][2]
    rest_own = moved_by("carrying", ["m", "l"])
    rest = moved_by("merge", ["m", "l", "block_m", "block_l"]) + 32 * sum(seen("carrying")[array, "writes"][2] for array in "ml")
    per = lambda count: f"{count / NUMBERS:g}"
    return table(["a step of the ring", "$O$: the block's result is written", "$O$: merged", "$O$: together", "$m$ and $l$", "launches"], [
        ["an attention kernel, then `merge`", per(result), per(written), per(result + written), f"{rest / NUMBERS:.2f}", 2],
        ["a kernel that carries $(O, m, l)$", "", per(own), per(own), f"{rest_own / NUMBERS:.2f}", 1],
    ])


def float32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def merged_error(level, blocks):
    """The largest error of `out` of 50 rows after so many merges in float32, of (O, m, l) and of (out, lse)."""
    draw, worst = random.Random(205), [0, 0]
    for _ in range(50):
        total = weighted = 0
        m = lse = -math.inf
        l = o = out = 0.0
        for _ in range(blocks):
            block_m, value, block_l = float32(level + draw.gauss(0, 1)), float32(draw.random()), float32(1 + draw.random())
            total += math.exp(block_m - level) * block_l
            weighted += math.exp(block_m - level) * block_l * value
            largest = max(m, block_m)
            mine, other = (float32(math.exp(x - largest)) for x in (m, block_m))
            o = float32(float32(mine * o) + other * float32(value * block_l))
            l, m = float32(float32(mine * l) + float32(other * block_l)), largest
            block_lse = float32(block_m + math.log(block_l))
            largest = max(lse, block_lse)
            mine, other = (float32(math.exp(x - largest)) for x in (lse, block_lse))
            norm = float32(mine + other)
            out = float32(float32(float32(mine / norm) * out) + float32(other / norm) * value)
            lse = float32(largest + float32(math.log(norm)))
        worst = [max(a, abs(b - weighted / total)) for a, b in zip(worst, (o / l, out))]
    return worst


def steps():
    lines = []
    for level in (0, 1000, 20000):
        for blocks in (4, 64, 256):
            carried, normalized = merged_error(level, blocks)
            lines.append([level, blocks, f"{carried:.0e}", f"{normalized:.0e}"])
    return table(["maxima near", "blocks", "error of $O / l$, merged as $(O, m, l)$", "error of out, merged as (out, lse)"], lines)


def again():
    """The example of lesson 104, whose half B is merged once and then again and again."""
    weight, l_a, o_a, l_b, o_b = 0.25, 1.875, 4.0, 1.6875, 7.0
    merged = {times: (weight * o_a + times * o_b) / (weight * l_a + times * l_b) for times in (1, 2, 10, 1000)}
    return table(["half $B$ is merged", "$O / l$"], [[f"{times} time{'s' if times > 1 else ''}", f"{value:.4f}"] for times, value in merged.items()])


def bfloat16(x):
    """x rounded to the nearest bfloat16, ties to even."""
    bits = struct.unpack("I", struct.pack("f", x))[0]
    return struct.unpack("f", struct.pack("I", (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16))[0]


def unit_roundoff(rounded):
    """The exponent of the largest relative error of rounding to nearest: that of 1 plus half a unit of its last digit."""
    worst = max(abs(rounded(x) - x) / x for x in (1 + 2.0**-digit for digit in range(1, 40)))
    return math.ceil(math.log2(worst))


def stored_as(rounded, blocks):
    """The largest error, over 50 rows, of out near 1/2 that is rounded like this after every merge of a block; nothing else is rounded."""
    draw, worst = random.Random(205), 0
    for _ in range(50):
        total = weighted = out = 0.0
        for _ in range(blocks):
            weight, value = math.exp(draw.gauss(0, 1)), draw.random()
            out = rounded((total * out + weight * value) / (total + weight))
            total, weighted = total + weight, weighted + weight * value
        worst = max(worst, abs(out - weighted / total))
    return worst


def bfloat16_state():
    exponent, single = unit_roundoff(bfloat16), unit_roundoff(float32)
    assert (exponent, single) == (-8, -24), (exponent, single)
    errors = lambda rounded: " and ".join(f"{stored_as(rounded, blocks):.0e}" for blocks in (4, 64))
    return f"""No. Every merge rounds `out` again. bfloat16 has {-exponent} significant bits, so rounding to nearest changes a number by up to $2^{{{exponent}}}$ of itself, and in float32 by up to
$2^{{{single}}}$. For 50 random rows with `out` near 1/2, merged in exact arithmetic and rounded only when `out` is stored, the largest error after 4 and after 64 blocks
is {errors(bfloat16)} in bfloat16, and {errors(float32)} in float32. Keep the state in float32, and round `out` to bfloat16 once, after the last step.
"""


def carrying_mistakes():
    merge = seen("merge")
    strided = 32  # sectors that 32 lanes touch whose rows lie further apart than a sector
    least = merge["O", "reads"][2] // merge["O", "reads"][0]
    return table(["what is said", "what is true"], [
        ["All lanes write the same $l$, so it does not matter who writes.", "Another lane may read it after that, and rescales it once more."],
        ["The lanes of a warp run in step, so none is late.", "Since 2017 they need not; `__syncwarp()` says where they must have met."],
        ["Every lane begins with the carried $l$, and at the end the lanes are added up.", f"Then the old keys count {LANES} times. One lane of the row brings $l$, the others 0; or "
         "it is added when the sum is complete."],
        ["One thread for each row is simplest.", f"Its lanes are {WIDTH} numbers apart: {strided} sectors for 32 loads of 16 bytes, of which half is used; here it is {least}, and all is."],
        ["A merge costs a handful of operations, so it is free.", f"It moves {moved_by('merge', ['O', 'block_O']) // NUMBERS} bytes for each number of $O$, and all else waits for it."],
        ["(out, lse) is as good as $(O, m, l)$, and one array less.", f"With lse near 20000 float32 knows it to 0.001, and so the weights: after 64 blocks out is off by {merged_error(20000, 64)[1]:.0e}."],
    ])


def figure():
    """The first thing that a warp does with each array of `merge`: the places of its lanes."""
    left, top, height, cell, body = 190, 50, 74, 20, []
    body.append(text(left, 20, "what the 32 lanes of a warp touch together in merge, head_dim 64; two rows, 16 lanes each", "small left"))
    merge = seen("merge")
    for place, (array, does, width) in enumerate([("O", "reads", 4), ("block_O", "reads", 4), ("m", "reads", 1), ("m", "writes", 1)]):
        lanes, y = merge[array, does][3:], top + place * height
        first, second, third, last, other, end = lanes
        words = {"O": "O of the state", "block_O": "O of the block", "m": "m"}[array]
        body += [text(left - 14, y + 14, words, "right"), text(left - 14, y + 32, does, "small right")]
        if width == 4:
            assert (second - first, third - second, last - first, end - other) == (4, 4, 60, 60)
            for half, start in enumerate((first, other)):
                for lane in range(LANES):
                    x = left + (half * (LANES * cell + 30)) + lane * cell
                    body += [box(x + 1, y, cell - 2, 26, f"c{half}", 2), text(x + cell / 2, y + 17, str(16 * half + lane), "small ink")]
                body.append(text(left + half * (LANES * cell + 30), y + 44, f"row {start // WIDTH}: {LANES} lanes, 4 numbers each", "small left"))
        else:
            for half, start in enumerate((first, other)):
                x = left + half * (LANES * cell + 30)
                body.append(box(x + 1, y, cell * 2, 26, f"c{half}", 2))
                taking = "16 lanes read it" if second == first else f"lane {16 * half} alone writes it"
                assert second in (first, -1)
                body.append(text(x + 2 * cell + 10, y + 17, f"number {start}: {taking}", "small left"))
        if array == "m" and does == "reads":
            body.append(text(left, y + 48, "__syncwarp()", "bold left"))
    return svg(left + 2 * (LANES * cell + 30), top + 4 * height, "The places of the 32 lanes of a warp in the merge kernel: neighbours read neighbouring float4, all read m, one lane of a row writes it", body)


COMPUTED = {f.__name__: f for f in (traffic, ways, steps, again, carrying_mistakes, bfloat16_state)}
FIGURES = {"merge_lanes": figure}
