"""Tables and the figure of lesson 501, from what the demo prints."""
import lesson_pages
from drawing import box, shade, svg, text
from tables import table

DEMO = lesson_pages.demo(__file__)


def steps():
    """The blocks that come and are computed in each step, as (slice, distance) or None."""
    rows = lesson_pages.rows(DEMO, "4 ranks, 2 slices: what comes and what is computed, slice and distance")
    block = lambda slice_, distance: (slice_, distance) if slice_ >= 0 else None
    return [(block(*row[:2]), block(*row[2:])) for row in rows]


def held():
    """The blocks that a rank holds in each step."""
    spans = {}
    for number, (came, done) in enumerate(steps()):
        for used in (came, done, came and (came[0], 0)):  # who sends its own block holds it
            if used:
                spans[used] = (spans.get(used, (number,))[0], number)
    return [sorted(b for b, (first, last) in spans.items() if first <= number <= last) for number in range(len(steps()))]


def gather_list():
    words = lambda b: f"slice {b[0]}, distance {b[1]}" if b else ""
    return table(["step", "comes", "is computed", "blocks held"],
                 [[number, words(came), words(done), len(blocks)] for number, ((came, done), blocks) in enumerate(zip(steps(), held()))])


def peaks():
    return lesson_pages.rows(DEMO, "8192 tokens per rank, 32 heads on 8: ranks, MiB of a ring, an all-gather of 8, 4, 2, 1 heads")


def gather_peaks():
    return ("MiB at most on a rank, 8192 tokens per rank, 32 heads on 8, width 128, two bytes, accumulators of four:\n\n" +
            table(["pass", "ranks", "ring", "all-gather, 8 KV heads at a time", "4", "2", "1"], peaks()))


def exposed():
    return lesson_pages.rows(DEMO, "heads, KV heads, tokens, ranks; MiB of K and V, ms exposed, computed, peak MiB, that of a ring")


def share(row):
    return f"{100 * row[5] / row[6]:.1f} %"


def gather_exposed():
    return table(["heads", "tokens", "ranks", "K and V", "exposed", "computed", "share", "peak", "peak of a ring"],
                 [[f"{r[0]} on {r[1]}", r[2], r[3], f"{r[4]} MiB", f"{r[5]:.2f} ms", f"{r[6]:.2f} ms", share(r), f"{r[7]} MiB", f"{r[8]} MiB"] for r in exposed()])


def gather_clocks():
    rows = lesson_pages.rows(DEMO, "64 tokens, zigzag, 4 ranks: documents, a hop; clocks of a ring, an all-gather of 2, 1 heads")
    return table(["documents", "seconds of a hop", "ring", "all-gather", "head by head"], rows)


def gather_mistakes():
    two = next(row for row in peaks() if row[:2] == ["forward", 2])
    llama = exposed()[1]
    most = max(map(len, held()))
    return table(["what is written", "what is true", "the number"], [
        ["An all-gather sends more than a ring.", "The same bytes, forward and backward.", f"8192 tokens, 8 KV heads, 16 ranks: {15 * 32} MiB forward from each rank, in both"],
        ["It holds K and V of the whole sequence, so it is out of the question for long ones.", "With few KV heads on a GPU it is little.",
         f"{llama[2]} tokens, {llama[1]} KV head: {llama[4]} MiB"],
        ["Fewer heads at a time take less memory.", "In the end, yes; but slices are copies.", f"2 ranks: 8 heads at a time {two[3]} MiB, 4 at a time {two[4]} MiB"],
        ["The more ranks, the more is exposed.", "At the same shard the share is $(N-1)/N$ of a constant.", "from 4 to 16 ranks: 0.75 to 0.94 of it"],
        ["Send the next slice as early as you can.", "Any step before its own is early enough; a step too early takes one more place.", f"4 ranks: {most} blocks, or {most + 1}"],
    ])


def gather_steps():
    unit, left, top, high = 70, 20, 64, 34
    most = max(map(len, held()))
    body = [text(left, 24, "the blocks that a rank holds; numbers are distances, 0 is its own", "left bold")]
    for number, ((came, done), blocks) in enumerate(zip(steps(), held())):
        x = left + number * unit
        body.append(text(x + unit / 2 - 3, top - 12, f"step {number}", "small"))
        for place, block in enumerate(blocks):
            y = top + place * high
            body.append(box(x, y, unit - 6, high - 4, "card"))
            if block != came:
                body.append(shade(x, y, unit - 6, high - 4, f"c{block[0]}", 1))
            word = "computed" if block == done else "comes" if block == came else ""
            body.append(text(x + unit / 2 - 3, y + (14 if word else 20), block[1], "bold" if block == came else "ink bold"))
            if word:
                body.append(text(x + unit / 2 - 3, y + 26, word, "small" if block == came else "small ink"))
    y = top + most * high + 24
    for slice_ in (0, 1):
        body += [box(left + slice_ * 110, y - 14, 18, 18, f"c{slice_}"), text(left + 26 + slice_ * 110, y, f"slice {slice_}", "left small")]
    body.append(text(left + 240, y, f"at most {most} = N + 1 at a time", "left small"))
    return svg(left + unit * len(steps()) + 20, y + 20, "An all-gather of four ranks and two slices, step by step", body)


COMPUTED = {f.__name__: f for f in (gather_list, gather_peaks, gather_exposed, gather_clocks, gather_mistakes)}
FIGURES = {"methods/gather_steps": gather_steps}
