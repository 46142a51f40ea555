"""Tables and the figure of lesson 201, from what the executor saw of the library's kernels."""
from drawing import box, svg, text
from lesson_pages import demo, rows
from tables import table

DEMO = demo(__file__)
HEAD = "kernel  array does    lane_0  lane_1  lane_2 lane_31  requests sectors fewest"
SECTOR = 8  # floats


def seen():
    """(kernel, array, does, lane 0, lane 1, lane 2, lane 31, requests, sectors, fewest) of every line of the demo."""
    return rows(DEMO, HEAD)


def gigabytes(count):
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def wall():
    """The size of S, and the traffic that it causes in the three kernels: written and read by the second, read by the third."""
    lines, heads, head_dim, size = [], 32, 128, 4
    for tokens in (1024, 8192, 32768, 131072):
        matrix, inputs = size * heads * tokens * tokens, 4 * size * heads * tokens * head_dim
        lines.append([tokens, gigabytes(inputs), gigabytes(matrix), gigabytes(5 * matrix)])
    return (f"One sequence, as many keys as queries, {heads} heads on {heads} KV heads of head_dim {head_dim}, no mask, all in float32 ({size} bytes):\n\n"
            + table(["tokens", "q, k, v and O", "$S$", "moved of $S$: written twice, read three times"], lines))


def lanes():
    return table(["kernel", "array", "", "lanes 0, 1, 2 and 31 are at number", "sectors", "at best"],
                 [[f"`{kernel}`", array, does, f"{a}, {b}, {c}, {d}", f"{sectors:g}", f"{fewest:g}"]
                  for kernel, array, does, a, b, c, d, _, sectors, fewest in seen()])


def sectors_of(kernel, array, does):
    return next((sectors, fewest) for k, a, d, *_, sectors, fewest in seen() if (k, a, d) == (kernel, array, does))


def naive_mistakes():
    sectors, fewest = sectors_of("softmax", "S", "reads")
    return table(["what is said", "what is true"], [
        ["A GPU kernel is parallel code, so it is hard.", "A thread is a plain function. Only communication between threads is hard, and here they tell each "
         "other nothing."],
        ["Launch as many threads as there are numbers.", "As many *thread blocks* as are needed, rounded up; and then a guard."],
        ["`if (i > n) return;` stops the extra threads.", "Numbers run from 0 to $n - 1$: the first one that does not exist is $n$."],
        ["Masked scores are set to $-\\infty$.", "They need not be computed, written or read at all; and a row of nothing but $-\\infty$ is NaN."],
        ["The softmax is small, so one thread for each row is good enough.", f"Its lanes walk down a column: {sectors:g} sectors for every read of $S$, where "
         f"{fewest:g} would do."],
    ])


def figure():
    """Four reads: the sectors of memory that the lanes of one warp touch. A row of boxes is memory, cut where it is empty."""
    left, top, height, body = 150, 46, 64, []
    body.append(text(left, 20, "what the 32 lanes of a warp read together; a box is a sector of 32 bytes, filled where a lane reads", "small left"))
    for place, (kernel, array) in enumerate([("scores", "q"), ("values", "v"), ("scores", "k"), ("softmax", "S")]):
        line = next(row for row in seen() if row[:3] == [kernel, array, "reads"])
        y, stride, last = top + place * height, line[4] - line[3], line[6]
        assert last == line[3] + 31 * stride
        touched = sorted({(line[3] + lane * stride) // SECTOR for lane in range(32)})
        body += [text(left - 12, y + 14, f"{kernel} reads {array}", "small right"),
                 text(left - 12, y + 30, f"lanes {stride} apart" if stride else "one place", "small right")]
        shown = touched if len(touched) <= 4 else touched[:5]
        x = left
        for sector in shown:
            body.append(box(x, y, 96, 26, "card", 3))
            for lane in range(32):
                at = line[3] + lane * stride
                if at // SECTOR == sector:
                    body.append(box(x + at % SECTOR * 12 + 1, y + 2, 10, 22, f"c{place % 4}", 2))
            x += 96 + (4 if stride < SECTOR else 22)
        if len(touched) > len(shown):
            body.append(text(x, y + 18, f"... {len(touched)} in all", "small left"))
        body.append(text(left, y + 42, f"{len(touched)} sector{'s' if len(touched) > 1 else ''}, {32 * len(touched)} bytes moved, "
                         f"{4 * len({line[3] + lane * stride for lane in range(32)})} used", "small left"))
    return svg(900, top + 4 * height, "Sectors that the lanes of a warp touch in four reads of the naive kernels", body)


COMPUTED = {f.__name__: f for f in (wall, lanes, naive_mistakes)}
FIGURES = {"naive_lanes": figure}
