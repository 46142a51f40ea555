"""Tables and the figure of lesson 305."""
import re

import lesson_pages
import marks
from drawing import box, lane, svg, text
from tables import table

DEMO = lesson_pages.demo(__file__)
BYTES = 2  # bf16
# Dense bf16 tensor-core peak and bytes per second of one direction of a link, as the data sheets have them.
FACTS = dict(re.findall(r'RINGCRAFT_MACHINE\("(.*?)", (.*?)\)', marks.read(marks.ROOT / "src/ringcraft/parallel/machines.inc")))
PEAK, INSIDE, BETWEEN = 1, 4, 6  # columns


def fact(machine, column):
    return float(FACTS[machine].split(",")[column])


MACHINES = [(name, fact(machine, PEAK), fact(machine, link)) for name, machine, link in
            [("A100, NVLink 3", "8xA100", INSIDE), ("H100, NVLink 4", "8xH100", INSIDE),
             ("A100, InfiniBand HDR", "8xA100", BETWEEN), ("H100, InfiniBand NDR", "8xH100", BETWEEN)]]
MODELS = [("Llama 2 7B", 32, 32), ("Llama 3 8B", 32, 8), ("Llama 3 405B", 128, 8)]  # query heads, KV heads


def least(flops, link, heads, kv_heads, causal=False):
    """Tokens of a rank from which on a hop hides under a block."""
    return flops * BYTES / (2 * link) * kv_heads / heads * (2 if causal else 1)


def lanes(title):
    """(line, exposed seconds) of each rank."""
    lines = DEMO.split("\n")
    found = []
    for line in lines[lines.index(title) + 1:]:
        match = re.fullmatch(r"rank \d ([0-9.]+) (\d+) exposed", line)
        if not match:
            return found
        found.append((match[1], int(match[2])))


def hiding():
    rows = []
    for machine, flops, link in MACHINES:
        rows.append([machine, f"{flops / link:.0f}", *(f"{least(flops, link, heads, kv):.0f} / {least(flops, link, heads, kv, True):.0f}" for _, heads, kv in MODELS)])
    return table(["machine", "FLOP per byte", *(f"{name}, {heads} heads on {kv}" for name, heads, kv in MODELS)], rows)


def causal_clocks():
    rows = []
    for layout, hop, *numbers in lesson_pages.rows(DEMO, "16 causal tokens: layout, seconds of a hop; ends and exposed seconds of ranks 0 to 3"):
        rows.append([layout, hop, ", ".join(map(str, numbers[:4])), ", ".join(map(str, numbers[4:]))])
    return table(["layout", "a hop takes", "ranks 0 to 3 end at", "exposed"], rows)


def clock_mistakes():
    flops, link = 312e12, 300e9
    right = least(flops, link, 32, 32)
    ends = {title: max(len(line) for line, _ in lanes(title)) for title in ("forward, hops of 2", "forward, hops of 5")}
    slow = lanes("forward, computing 2, hops of 1, and 7 once on rank 0")
    tokens, heads, width = 16384, 32, 128
    computing, bytes_ = 4 * tokens * tokens * width * heads / flops, 2 * tokens * width * heads * BYTES
    return table(["what is written", "what is true", "the number"], [
        ["A block costs $2 c^2 d$ FLOP.", "Two products: $QK^T$ *and* $PV$, $4 c^2 d$.", f"c = {tokens}, 32 heads, A100: {computing * 1e3:.1f} ms, not {computing * 5e2:.1f} ms"],
        ["NVLink moves 600 GB/s.", "Both directions together. A hop uses one of them: 300.", f"a block of {bytes_ / 2**20:.0f} MiB: {bytes_ / link * 1e3:.3f} ms, not {bytes_ / link * 5e2:.3f}"],
        ["The shard must have 1024 tokens.", "Both errors cancel, but for rounding. Under a causal zig-zag it is twice as many, and with grouped heads fewer.",
         f"{right:.0f}; causal {2 * right:.0f}; 8 KV heads {right / 4:.0f}"],
        ["Time is computing plus communication.", "The longer of both, in every step but the last.", f"computing 3, hops of 2: {ends['forward, hops of 2']}, not {4 * 3 + 3 * 2}; hops of 5: {ends['forward, hops of 5']}, not {4 * 3 + 3 * 5}"],
        ["All wait for the slowest in every step.", "Each waits for its neighbours. A delay needs steps to go round.",
         f"7 seconds once on rank 0: exposed {', '.join(str(exposed) for _, exposed in slow)}"],
        ["An all-gather sends more than a ring.", "The same bytes. It holds $N$ blocks, and computes after the last one.", "$(N-1)$ blocks sent by each rank in both"],
    ])


def arithmetic():
    ranks, numbers, compute, alpha, beta = 8, 262144, 100e-6, 5e-6, 50e9
    bytes_ = 2 * 4 * numbers
    hop = alpha + bytes_ / beta
    ring, gather = compute + (ranks - 1) * max(compute, hop), ranks * compute + (ranks - 1) * hop
    small = alpha / (bytes_ / beta)
    return f"""With $B = {numbers}$ numbers of 4 bytes in each of K and V, a block has $8 B = {bytes_}$ bytes, and each of {ranks} ranks sends $8 B (N - 1) = {bytes_ * (ranks - 1)}$. An all-gather sends as many.
A hop takes $\\alpha + 8 B / \\beta = {alpha * 1e6:.0f} + {bytes_ / beta * 1e6:.1f} = {hop * 1e6:.1f}$ µs, less than the {compute * 1e6:.0f} µs of computing: hidden. In all {ring * 1e3:.3f} ms, against {gather * 1e3:.3f} ms if everything is gathered first.
The latency is {100 * small:.0f} % of the time of the bytes. With a hundredth of the block it would be {alpha * 1e6:.0f} of {alpha * 1e6 + bytes_ / beta * 1e4:.1f} µs: then $N - 1$ latencies are the cost of the ring."""


def overlap_clocks():
    titles = [("forward, hops of 5", "computing 3, hops of 5: every hop shows 2"),
              ("backward, schedule forward, blocks of 1, sums of 2", "backward, schedule forward: the last sum goes home"),
              ("forward, computing 2, hops of 1, and 7 once on rank 0", "computing 2, hops of 1, rank 0 slow once: a wave")]
    unit, left, y, body = 32, 90, 16, []
    for title, words in titles:
        body.append(text(left, y, words, "left bold"))
        for rank, (line, exposed) in enumerate(lanes(title)):
            y += 26
            spans = [(m.start(), len(m[0]), m[0][0]) for m in re.finditer(r"(\d)\1*", line)]
            body += lane(y - 16, f"rank {rank}", spans, f"c{rank}", unit, left)
            for m in re.finditer(r"\.+", line):
                body.append(box(left + m.start() * unit + 1, y - 16, len(m[0]) * unit - 2, 21, "card"))
            body.append(text(left + 19 * unit, y, f"{exposed} exposed", "left small"))
        y += 40
    body.append(text(left, y - 8, "digits: the step that is computed; empty boxes: exposed waiting", "left small"))
    return svg(820, y + 6, "Clocks of four ranks: an exposed ring, a last hop home, and a wave", body)


COMPUTED = {f.__name__: f for f in (hiding, causal_clocks, arithmetic, clock_mistakes)}
FIGURES = {"overlap_clocks": overlap_clocks}
