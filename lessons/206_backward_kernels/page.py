"""Tables and the figure of lesson 206, from what the executor counted of the four backward rungs."""
import random
import struct

from drawing import box, svg, text
from lesson_pages import demo, rows
from tables import table

DEMO = demo(__file__)
COUNTS = "rung kernel read_KB written_KB shared_KB mma"
BITS = "bits of two runs: rung dq dk dv"
KERNELS = {1: ("`weights`", "`dq`", "`dkdv`"), 2: ("`dq_kernel`", "`dkdv_kernel`"), 3: ("`dq_kernel`", "`dkdv_kernel`"), 4: ("`fused_kernel`",)}
TILE, TOKENS, WINDOW = 32, 192, 70


def counts():
    """{rung: [(read, written, shared, mma) of each kernel]}, in KB."""
    result = {}
    for rung, _, *line in rows(DEMO, COUNTS):
        result.setdefault(rung, []).append(line)
    return result


def total(rung, column):
    return sum(line[column] for line in counts()[rung])


def rungs():
    bits = {line[0]: line for line in rows(DEMO, BITS)}
    assert all(line[2:] == ["same", "same"] for line in bits.values())
    words = {
        1: ("naive", "$P$ and $dS$, whole", "nothing", 5),
        2: ("two kernels", "lse and $\\delta$", "$P$ and $dS$, twice", 7),
        3: ("tensor cores", "lse and $\\delta$", "$P$ and $dS$, twice", 7),
        4: ("fused", "lse and $\\delta$", "$P$ and $dS$, once", 5),
    }
    return table(["rung", "", "kernels", "in global memory", "recomputed", "products of two tiles", "dq", "dk and dv", "same bits in every run"], [
        [f"0{rung}", name, len(KERNELS[rung]), stored, again, products, "atomics" if rung == 4 else "one owner", "one owner",
         "yes" if bits[rung][1] == "same" else "dk and dv only"] for rung, (name, stored, again, products) in words.items()])


def stored():
    def size(count):
        for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
            if count >= scale:
                return f"{count / scale:.1f} {unit}"
        return f"{count} B"
    return table(["tokens, one head", "$P$ and $dS$ in float32", "lse and $\\delta$"],
                 [[tokens, size(2 * 4 * tokens * tokens), size(2 * 4 * tokens)] for tokens in (1024, 8192, 131072)])


def mirror():
    return table(["", "`dq_kernel`", "`dkdv_kernel`"], [
        ["own rows, which stay", "32 queries: q and dout", "32 keys: k and v"],
        ["other rows, which stream past", "keys: k and v", "queries: q and dout, one head of the group after another"],
        ["the two products of a tile", "$q k^T$ and $d\\mathrm{out} v^T$", "$k q^T$ and $v d\\mathrm{out}^T$"],
        ["lse and $\\delta$ are those of", "the own row", "the other row"],
        ["weights in shared memory", "$dS$", "$P^T$ and $dS^T$"],
        ["sums in registers", "$dq = dS k$", "$dv = P^T d\\mathrm{out}$, $dk = dS^T q$"],
        ["factor at the end", "$\\sigma$", "1 for dv, $\\sigma$ for dk"],
        ["which tiles", "`key_begin`, `key_end`", "`row_begin`, `row_end`"],
        ["thread blocks", "tiles of rows × heads", "tiles of keys × KV heads"],
    ])


def tiles():
    """For each tile of TOKENS tokens under a window: the tiles of keys that its rows see, and the tiles of rows that see its keys."""
    first = range(0, TOKENS, TILE)
    return [(range(max(t - WINDOW, 0) // TILE, t // TILE + 1), range(t // TILE, min(t + TILE - 1 + WINDOW, TOKENS - 1) // TILE + 1)) for t in first]


def walks():
    return table(["tile", "as rows it meets the tiles of keys", "as keys it meets the tiles of rows"],
                 [[i, ", ".join(map(str, keys)), ", ".join(map(str, seen_by))] for i, (keys, seen_by) in enumerate(tiles())])


def counted():
    assert 7 * total(4, 3) == 5 * total(3, 3)  # five products of tiles, and seven where S and dP are computed twice
    lines = []
    for rung, kernels in counts().items():
        for name, (read, written, shared, mma) in zip(KERNELS[rung], kernels):
            lines.append([f"0{rung}", name, read, written, shared or "", mma or ""])
    return table(["rung", "kernel", "KB asked of global memory", "KB written there", "KB of shared memory", "`mma` of warps"], lines) + \
        f"\nAll kernels of a step together ask global memory for: {'; '.join(f'rung 0{rung}: {total(rung, 0)} KB' for rung in counts())}. "\
        "An addition with atomics counts among both, since it reads a number and writes it.\n"


def float32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def added(numbers):
    sum_ = 0.0
    for x in numbers:
        sum_ = float32(sum_ + x)
    return sum_


def example():
    numbers = [float32(x) for x in (0.1, 0.7, -0.6)]
    orders = [(0, 1, 2), (1, 2, 0), (2, 0, 1)]
    names = "abc"
    return table(["order", "sum of $a = 0.1$, $b = 0.7$, $c = -0.6$ in float32"],
                 [[" + ".join(names[i] for i in order), f"{added(numbers[i] for i in order):.10f}"] for order in orders])


def orders():
    return table(["rung", "dq", "dk", "dv"], [[f"0{rung}", *(f"{bits} bits" for bits in line)] for rung, *line in rows(DEMO, BITS)])


def shares(terms, sums=4000):
    """Of sums of so many random numbers, added twice in random orders: the share with other bits, and the largest difference."""
    draw, others, largest = random.Random(206), 0, 0.0
    for _ in range(sums):
        numbers = [float32(draw.gauss(0, 1)) for _ in range(terms)]
        once, again = (added(draw.sample(numbers, terms)) for _ in range(2))
        others += once != again
        largest = max(largest, abs(once - again))
    return others / sums, largest


def addends():
    return table(["thread blocks that add to a number", "sums that differ in their bits", "largest difference"],
                 [[terms, f"{100 * share:.0f} %", f"{largest:.0e}" if largest else "0"] for terms in (2, 3, 4, 16, 128) for share, largest in [shares(terms)]])


def backward_kernel_mistakes():
    share, largest = shares(16)
    return table(["what is said", "what is true"], [
        ["Atomics make the sum right, so it is the same in every run.", f"Each addition is whole; the order is not fixed. Of sums of 16 numbers {100 * share:.0f} % differ in their bits."],
        ["The differences are rounding, so they do not matter.", f"They are small, {largest:.0e} of numbers of about 1. But the bits alone do not tell them from a race."],
        ["dk and dv need atomics, because several query heads share a KV head.", "Not if the KV head has the thread block and walks over its heads."],
        ["A tile normalises its own weights; that is what softmax does.", "lse is that of the row, over all tiles and all blocks of the ring. So is $\\delta$."],
        ["Multiply the weights with a mask of 0 and 1.", "The weight may be infinite or NaN where the mask is 0. Ask first, compute then."],
        ["Recomputing wastes work.", f"Rung 01 recomputes nothing, and for 131072 tokens keeps {2 * 4 * 131072 ** 2 / 1e9:.0f} GB for each head. Two more products of tiles in shared memory need none of it."],
        ["Five products instead of seven make it faster by two sevenths.", f"In `mma`, yes: {total(4, 3)} instead of {total(3, 3)}. But dq is read and written with every tile of keys: {counts()[4][0][1] - counts()[3][1][1]} KB "
         f"instead of {2 * counts()[3][0][1]}."],
    ])


def figure():
    """Owners of the tiles under the demo's window, and the thread blocks that add to dq of one row of tiles."""
    cell, gap, top, left, body = 30, 70, 74, 60, []
    count = len(tiles())
    shown = next(i for i, (keys, _) in enumerate(tiles()) if len(keys) == max(len(k) for k, _ in tiles()))
    for place, (name, words) in enumerate([("dq_kernel", "a thread block: a row of tiles"), ("dkdv_kernel", "a thread block: a column"), ("fused_kernel", "columns, and all add to dq")]):
        x0 = left + place * (count * cell + gap)
        body += [text(x0 + count * cell / 2, 22, name, "bold"), text(x0 + count * cell / 2, 42, words, "small"),
                 text(x0 + count * cell / 2, top - 10, "tiles of keys", "small")]
        if place == 0:
            body.append(f'<text transform="translate({x0 - 16} {top + count * cell / 2}) rotate(-90)" class="small">tiles of rows</text>')
        body.append(box(x0, top, count * cell, count * cell, "card", 2))
        for row, (keys, _) in enumerate(tiles()):
            for key in keys:
                owner = row if place == 0 else key
                body.append(box(x0 + key * cell + 1, top + row * cell + 1, cell - 2, cell - 2, f"c{owner % 4}", 2))
        right, below = x0 + count * cell, top + count * cell
        if place != 1:
            y = top + (shown + 0.5) * cell
            last = tiles()[shown][0][-1]
            if place == 0:
                body.append(f'<path d="M{x0 + tiles()[shown][0][0] * cell + 6} {y:g} H{right + 14}" class="line"/>')
                body.append(text(right + 18, y + 4, "dq", "small left"))
            else:
                for i, key in enumerate(tiles()[shown][0]):
                    x, level = x0 + (key + 0.5) * cell, y - 9 + 6 * i
                    body.append(f'<path d="M{x:g} {level:g} H{right + 14}" class="line"/>')
                    body.append(f'<circle cx="{x:g}" cy="{level:g}" r="3" class="ink"/>')
                body.append(text(right + 18, y + 4, "dq", "small left"))
        if place != 0:
            x = x0 + (1 + 0.5) * cell
            body.append(f'<path d="M{x:g} {top + tiles()[1][1][0] * cell + 6} V{below + 14}" class="line"/>')
            body.append(text(x, below + 30, "dk, dv", "small"))
    width = left + 3 * (count * cell + gap)
    return svg(width, top + count * cell + 44, "Tiles of rows and keys under a window, coloured by the thread block that owns them: rows for dq, columns for dk and dv; in the fused kernel several "
               "columns add to one dq", body)


COMPUTED = {f.__name__: f for f in (rungs, stored, mirror, walks, counted, example, orders, addends, backward_kernel_mistakes)}
FIGURES = {"who_adds": figure}
