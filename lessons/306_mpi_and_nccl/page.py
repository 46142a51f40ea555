"""Tables and the figure of lesson 306, from what the demo prints."""
import re

import lesson_pages
from drawing import lane, svg, text
from tables import table

DEMO = lesson_pages.demo(__file__)
RIGHT = "the library's order"


def runs():
    """Title -> (end, lanes by (rank, stream), findings)."""
    found = {}
    for block in DEMO.split("\n\n"):
        lines = block.strip().split("\n")
        head = re.fullmatch(r"(.*): ends at (\d+)", lines[0])
        if not head:
            continue
        lanes = {(int(m[1]), m[2]): m[3] for m in (re.fullmatch(r"rank (\d+) (\w+) +(\S*)", line) for line in lines) if m}
        found[head[1]] = (int(head[2]), lanes, [line[len("found: "):] for line in lines if line.startswith("found: ")])
    return found


def spans(lane_text):
    """(first second, seconds, digit) of each piece of work."""
    return [(m.start(), len(m[0]), m[1]) for m in re.finditer(r"(\d)\1*", lane_text)]


def eager_rings():
    rows = lesson_pages.rows(DEMO, "all send first: bytes, with eager limits of 0, 4096 and 65536 bytes")
    return table(["bytes of a message", "limit 0 (`MPI_Ssend`)", "limit 4096", "limit 65536"], rows)


def lost_calls():
    rows = []
    for title, (end, _, findings) in runs().items():
        if title != RIGHT:
            rows.append([title, findings[0], end])
    return table(["changed", "the first finding on rank 0", "seconds of the model"], [[RIGHT, "none", runs()[RIGHT][0]], *rows])


def two_streams():
    _, lanes, findings = runs()[RIGHT]
    assert not findings
    unit, left, body = 42, 190, []
    for (rank, stream), line in lanes.items():
        top = 20 + 80 * rank + (34 if stream == "communication" else 0)
        kind = "c0" if stream == "compute" else "c1"
        words = "block" if stream == "compute" else "KV"
        parts = spans(line)
        if stream == "compute":
            parts = parts[:-1]  # the last one only reads the results
        body += lane(top, f"rank {rank} {stream}", [(at, length, f"{words} {digit}") for at, length, digit in parts], kind, unit, left)
        if stream == "communication":
            for at, length, _ in parts:
                start, end, waits = left + at * unit, left + (at + length) * unit, left + 3 * unit * (1 + at // 3)
                body.append(f'<path d="M{start} {top - 10}V{top}" class="thin"/>')
                body.append(f'<path d="M{end} {top}L{waits} {top - 10}" class="thin"/>')
    body.append(text(left, 348, "thin lines: ready, from compute to communication, and done, back", "left small"))
    return svg(760, 360, "Two streams of each of four ranks", body)


COMPUTED = {f.__name__: f for f in (eager_rings, lost_calls)}
FIGURES = {"two_streams": two_streams}
