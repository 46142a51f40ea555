"""Tables and the figure of lesson 401."""
import layouts
import lesson_pages
from drawing import box, heat_map, lane, svg, text
from tables import table

DEMO = lesson_pages.demo(__file__)
RANKS, TOKENS = 4, 16


def steps():
    """Pairs [step][rank], as the demo has printed them."""
    return [row[1:] for row in lesson_pages.rows(DEMO, "step, and the pairs of ranks 0 to 3")]


def by_rank():
    return [sum(column) for column in zip(*steps())]


def cost():
    return sum(max(row) for row in steps())


def clocks(name):
    return next(row[1:] for row in lesson_pages.rows(DEMO, "when each rank of a real ring has finished") if row[0] == name)


def work_saving():
    dense, visible = TOKENS * TOKENS, sum(by_rank())
    slow = dense // RANKS
    assert cost() == max(clocks("skipped")) and slow == max(clocks("nothing_skipped"))
    return (f"Skipping saves {100 * (1 - visible / dense):.0f} % of the work: {visible} pairs are left of {dense}. It saves "
            f"{100 * (1 - cost() / slow):.0f} % of the time: {cost()} instead of {slow}.\n")


def work_imbalance():
    pairs = by_rank()
    mean, most = sum(pairs) / RANKS, max(pairs)
    return (f"Here the ranks have {', '.join(map(str, pairs))} pairs. The mean is {mean:g}, and $1 - {mean:g}/{most} = "
            f"{100 * (1 - mean / most):.1f}$ %. The ranks together spend that share of their time with nothing to compute.\n")


def measures():
    pairs = by_rank()
    mean, most = sum(pairs) / RANKS, max(pairs)
    spread = (sum((p - mean) ** 2 for p in pairs) / RANKS) ** 0.5
    return (f"1 - mean/max {100 * (1 - mean / most):.1f} %, max/mean - 1 {100 * (most / mean - 1):.1f} %, "
            f"1 - min/max {100 * (1 - min(pairs) / most):.1f} %, deviation/mean {100 * spread / mean:.1f} %")


def work_mistakes():
    ratio = lambda n, c: ((2 * n - 1) * c + 1) / (c + 1)
    striped = [[p for p in range(TOKENS) if p % RANKS == rank] for rank in range(RANKS)]
    kept = sum(key <= query for i in range(RANKS) for j in range(i + 1) for query in striped[i] for key in striped[j])
    all_pairs = TOKENS * (TOKENS + 1) // 2
    return table(["what is written", "what is true", "the number"], [
        ["Later queries are cheaper; the first rank attends to everything.", "The reverse: a query sees what lies before it.",
         f"pairs of ranks 0 to 3: {', '.join(map(str, by_rank()))}"],
        ["Skipping makes a causal ring twice as fast.", "It halves the work; the last rank skips nothing, and the others wait for it.",
         f"16 tokens on 4 ranks: time {cost()} instead of {TOKENS * TOKENS // RANKS}"],
        ["Rank 0 is done at once.", "After its own block, if blocks stop where no rank further along needs them. If all go all the way round, its neighbours wait for it.",
         f"leaves the ring at {clocks('skipped')[0]:g} of {clocks('skipped')[-1]:g}"],
        ["The last rank has $2N$ times the work of the first.", r"$\frac{(2N-1)c + 1}{c + 1}$ times: below $2N - 1$.",
         f"$N = 8$: {ratio(8, 4):.1f} for $c = 4$, {ratio(8, 1024):.2f} for $c = 1024$, never 16"],
        ["Skip a block if it comes from a later rank.", "True for contiguous shards only. Ask the positions.",
         f"striped: {all_pairs - kept} of {all_pairs} pairs lost"],
        ["An imbalance of 40 %.", "Of what? Say the formula.", measures()],
    ])


def figure():
    rows, unit, left = steps(), 8.6, 340
    body = heat_map(70, 20, "visible pairs", rows, max(max(row) for row in rows))
    body += [text(left + cost() * unit / 2, 20, "time of a ring that waits after every step", "bold")]
    for rank in range(RANKS):
        begin, spans = 0, []
        for row in rows:
            if row[rank]:
                spans.append((begin, row[rank], row[rank]))
            begin += max(row)
        top = 48 + rank * 30
        body.append(box(left, top, cost() * unit, 28, "card", 3))
        body += lane(top + 3, f"rank {rank}", spans, "c3", unit, left)
    begin = 0
    for row in rows:
        body.append(f'<path d="M{left + begin * unit:g} 44V172" class="thin"/>')
        body.append(text(left + begin * unit, 188, begin, "small"))
        begin += max(row)
    body += [f'<path d="M{left + begin * unit:g} 44V172" class="thin"/>', text(left + begin * unit, 188, begin, "small"),
             text(left, 210, "empty: the rank waits for the slowest one", "small left")]
    return svg(880, 218, "Pairs by step and rank of a causal ring of contiguous shards, and when each rank works", body)


COMPUTED = {f.__name__: f for f in (work_saving, work_imbalance, work_mistakes)}
FIGURES = {"masks/skipping": figure}
