"""Tables and the figure of lesson 303; times come from what the demo prints."""
import layouts
import lesson_pages
from drawing import lane, svg, text
from tables import table

RANKS, TOKENS = 4, 16
DEMO = lesson_pages.demo(__file__)
ORDERS = ["under way while computing", "one after the other"]


def timeline(order):
    """For each step of rank 0: computes from, to, exchange from, goes on at."""
    return [line[1:] for line in lesson_pages.rows(DEMO, f"{order}: step, computes from, to, exchange from, goes on at")]


def hop_time():
    """The time of an exchange: visible where it is not hidden."""
    _, _, start, done = timeline(ORDERS[1])[0]
    return done - start


def ring_steps():
    rows = [[t, *(f"block {layouts.source(i, t, RANKS)}" for i in range(RANKS)),
             "to the next rank" if t < RANKS - 1 else "none"] for t in range(RANKS)]
    return table(["step", *(f"rank {i}" for i in range(RANKS)), "exchange"], rows)


def ring_buffers():
    rank, rows = 2, []
    for t in range(RANKS):
        held = layouts.source(rank, t, RANKS)
        place = "own" if t == 0 else f"ring buffer {(t - 1) % 2}"
        arriving = f"block {layouts.source(rank, t + 1, RANKS)}, into ring buffer {t % 2}" if t < RANKS - 1 else "nothing"
        rows.append([t, f"block {rank}", f"block {held}, in {'the own buffers' if t == 0 else place}", arriving])
    return table(["step", "own", "current", "arriving"], rows)


def ring_time():
    together, apart = (timeline(order)[-1][-1] for order in ORDERS)
    compute, move = timeline(ORDERS[0])[0][1], hop_time()
    assert together == compute + (RANKS - 1) * max(compute, move) and apart == RANKS * compute + (RANKS - 1) * move
    return f"With $N = {RANKS}$, $T_c = {compute}$ and $T_{{kv}} = {move}$: {together} against {apart}.\n"


def ring_bytes():
    seqlen, kv_heads, head_dim, size = 4096, 2, 64, 4
    block = 2 * kv_heads * (seqlen // RANKS) * head_dim * size
    return (f"For {seqlen} tokens on {RANKS} ranks, {kv_heads} KV heads of {head_dim} numbers, in float32 (what `./ringcraft run` "
            f"computes): {block:,} bytes for each exchange,\n{(RANKS - 1) * block:,} for each rank in all.\n")


def overwritten():
    """The owner of the block that each rank finds in the caller's k after a forward pass that rotates the caller's own buffer."""
    places = {"own": list(range(RANKS)), "other": [None] * RANKS}
    current, arriving = "own", "other"
    for _ in range(RANKS - 1):
        places[arriving] = [places[current][(i - 1) % RANKS] for i in range(RANKS)]
        current, arriving = arriving, current
    return places["own"]


def ring_mistakes():
    pairs = [sum(layouts.causal_pairs("contiguous", TOKENS, RANKS, i, j) for j in range(RANKS)) for i in range(RANKS)]
    wasted = ", ".join(f"{100 / (n - 1):.0f} % for $N = {n}$" for n in (2, 4, 8))
    held = ", ".join(map(str, overwritten()))
    return table(["what is written", "what is true", "the number"], [
        ["$N$ steps, so $N$ exchanges.", "$N - 1$: a block that arrives after the last step is thrown away.", f"bytes wasted: {wasted}"],
        ["One extra buffer is enough: swap it with k and v.", "Then blocks overwrite the caller's k and v, and the backward "
         "pass reads other ranks' blocks. It shows from $N = 3$ on.",
         f"$N = {RANKS}$: the ranks' own k hold the blocks {held} afterwards"],
        ["Under a causal mask, later query blocks are cheaper.", "The reverse: late queries see many keys.",
         f"pairs of the ranks, {TOKENS} tokens, $N = {RANKS}$: {', '.join(map(str, pairs))}"],
        ["All ranks send first, then receive; it worked in the test.", "The transport had copied the small message aside. Beyond its "
         "limit the same code hangs.", "Open MPI 4.1 in shared memory: limit 4096 bytes with header, as "
         "`ompi_info --param btl vader --level 9` shows (`btl_vader_eager_limit`)"],
        ["At step $t$ rank $i$ holds block $(i + t) \\bmod N$.", "$(i - t) \\bmod N$, as long as blocks move to the next rank. Full "
         "attention and $N = 2$ hide the mistake.",
         f"$N = {RANKS}$, step 1: rank 2 holds block {layouts.source(2, 1, RANKS)}, not {(2 + 1) % RANKS}"],
        ["The ring sends less than an all-gather.", "Just as much; it *holds* less.", f"blocks held at $N = 8$: 3 against 8"],
    ])


def overlap():
    unit, left, body = 48, 130, []
    for i, order in enumerate(ORDERS):
        top, steps = 20 + 90 * i, timeline(order)
        body.append(text(left, top, f"exchange {order}" if i == 0 else order, "left bold"))
        body += lane(top + 10, "compute", [(begin, end - begin, f"step {t}") for t, (begin, end, _, _) in enumerate(steps)], "c0", unit, left)
        body += lane(top + 35, "exchange", [(start, hop_time(), "KV") for _, _, start, _ in steps[:-1]], "c1", unit, left)
    total = timeline(ORDERS[1])[-1][-1]
    body.append(f'<path d="M{left} 184H{left + total * unit}" class="thin"/>')
    for tick in range(0, total + 1, 3):
        body += [f'<path d="M{left + tick * unit} 180v8" class="thin"/>', text(left + tick * unit, 204, tick, "small")]
    return svg(880, 212, "Time lines of rank 0 with and without overlap", body)


COMPUTED = {f.__name__: f for f in (ring_steps, ring_buffers, ring_time, ring_bytes, ring_mistakes)}
FIGURES = {"overlap": overlap}
