"""Tables and the figure of lesson 301, all of them from what the demo prints."""
import lesson_pages
from drawing import box, svg, text
from tables import table

DEMO = lesson_pages.demo(__file__)
FORMS = ["all send first", "rank 0 reversed", "odd/even", "send-receive"]


def phases():
    """N -> the phases of the four forms, "deadlock" where there is no end."""
    title = next(line for line in DEMO.split("\n") if line.startswith("ranks "))
    return {row[0]: dict(zip(FORMS, row[1:])) for row in lesson_pages.rows(DEMO, title)}


def done():
    """N -> for each rank when its send and its receive are done."""
    times = {}
    for n, rank, sent, received in lesson_pages.rows(DEMO, "odd/even: ranks, rank, when its send and its receive are done"):
        times.setdefault(n, []).append((sent, received))
    return times


def exchange_forms():
    rows = [[f"{name}", *(by_form[name] for by_form in phases().values())] for name in FORMS]
    return table(["phases for $N$ =", *phases()], rows)


def exchange_phases():
    """Which messages move in which phase on five ranks."""
    n, times = 5, done()[5]
    moves = {}
    for rank, (sent, received) in enumerate(times):
        assert times[(rank + 1) % n][1] == sent  # a message is done on both sides at once
        moves.setdefault(sent, []).append(f"{rank} → {(rank + 1) % n}")
    waiting = lambda phase: ", ".join(str(rank) for rank, both in enumerate(times) if phase not in both and phase < max(both)) or "nobody"
    return table(["phase", "messages that move", "ranks that wait"],
                 [[phase, ", ".join(moves[phase]), waiting(phase)] for phase in sorted(moves)])


def exchange_mistakes():
    copied = dict(lesson_pages.rows(DEMO, "bytes, all send first, up to 4096 copied aside"))
    good, bad = max(b for b, p in copied.items() if p != "deadlock"), min(b for b, p in copied.items() if p == "deadlock")
    by_n = phases()
    return table(["what is written", "what is true", "the number"], [
        ["If all send first, the ring deadlocks.", "If sends wait for their receive. A transport that copies small messages aside hides "
         "the mistake until the messages grow.", f"up to {good} bytes copied aside, 4 ranks: {good} bytes arrive, {bad} do not"],
        ["Then let all receive first.", "Worse: no rank ever sends. No copying helps.", "deadlocks at every size, on every transport"],
        ["It is enough that one rank receives first.", "It ends, but the messages move one after another, like dominoes.",
         f"$N = 8$: {by_n[8]['rank 0 reversed']} phases instead of {by_n[8]['odd/even']}"],
        ["Odd/even needs an even number of ranks.", "It ends for every $N \\ge 2$. An odd ring has two even neighbours, and takes a phase "
         "more.", f"$N = 7$: {by_n[7]['odd/even']} phases, $N = 8$: {by_n[8]['odd/even']}"],
        ["Send K by odd/even, then V, after computing.", "Computation hides nothing, and K and V wait for each other.",
         f"$N = 8$: {2 * by_n[8]['odd/even']} phases for a step, instead of {by_n[8]['send-receive']} that computing can hide"],
        ["Ring attention passes K and V by a ring *all-reduce*.", "Nothing is added up on the way. The pattern is that of an all-gather.",
         f"exchanges for $N = 4$: {4 - 1}; an all-reduce would take {2 * (4 - 1)}"],
    ])


def panel(x, n, times):
    """One lane for each rank: a line while it waits, a box while its message moves."""
    unit, body = 92, [text(x + 60, 22, f"{n} ranks", "left bold")]
    for rank, (sent, received) in enumerate(times):
        y, begin = 36 + 34 * rank, 0
        body.append(text(x + 50, y + 16, f"rank {rank}", "small right"))
        for end, cls, label in sorted([(sent, "c0", f"to {(rank + 1) % n}"), (received, "c1", f"from {(rank - 1) % n}")]):
            if end - 1 > begin:
                body.append(f'<path d="M{x + 60 + begin * unit + 4} {y + 11}H{x + 60 + (end - 1) * unit - 4}" class="thin"/>')
            body += [box(x + 61 + (end - 1) * unit, y, unit - 2, 23, cls), text(x + 60 + (end - 0.5) * unit, y + 16, label, "small ink")]
            begin = end
    bottom, last = 36 + 34 * n + 6, max(max(both) for both in times)
    for phase in range(1, last + 1):
        body.append(text(x + 60 + (phase - 0.5) * unit, bottom + 12, f"phase {phase}", "small"))
    return body


def odd_even():
    body = panel(20, 4, done()[4]) + panel(420, 5, done()[5])
    return svg(800, 244, "Odd/even on four ranks takes two phases, on five ranks three", body)


COMPUTED = {f.__name__: f for f in (exchange_forms, exchange_phases, exchange_mistakes)}
FIGURES = {"odd_even": odd_even}
