"""Tables and the figure of lesson 107."""
import lesson_pages
from drawing import box, svg, text
from tables import fraction, table

DEMO = lesson_pages.demo(__file__)
READERS = {name: heads for name, *heads in lesson_pages.rows(DEMO, "KV head of each query head")}
SHARES = lesson_pages.rows(DEMO, "query head, its share of dk(0, 0) of KV head 0 of 2")
MEMORY = lesson_pages.rows(DEMO, "kv_heads, MiB of K and V: a layer (bf16), a hop (bf16), a dKV hop (float)")
NAMES = {32: "multi-head", 8: "grouped, as published", 1: "multi-query"}
HEADS, LAYERS = 32, 32  # Llama 3 8B, arXiv:2407.21783, table 3


def mib(x):
    return f"{x / 1024:g} GiB" if x >= 1024 else f"{x:g} MiB"


def grouped_memory():
    for kv, layer, hop, dkv in MEMORY:
        assert layer * 2**20 == 2 * kv * 131072 * 128 * 2 and hop == layer / 8 and dkv == 2 * hop
    rows = [[f"{NAMES[kv]}, {kv}", f"{HEADS // kv}", mib(layer), mib(LAYERS * layer), mib(hop), mib(dkv)] for kv, layer, hop, dkv in MEMORY]
    return table(["KV heads", "heads in a group", "K and V of a layer", f"KV cache of {LAYERS} layers", "one hop of the ring",
                  "one hop of the gradients"], rows)


def grouped_shares():
    shares = [x for h, x in SHARES[:-1]]
    total = SHARES[-1][1]
    assert abs(sum(shares) - total) < 2e-6
    terms = " + ".join(f"{x:.3f}" for x in shares[:4])
    return (f"dk of KV head 0, first element: the heads 0 to 3 give ${terms} = {total:.3f}$, the heads 4 to 7 give nothing.\n")


def rule(name, heads, kv_heads):
    group = heads // kv_heads
    return [{"h / group": h // group, "h % kv_heads": h % kv_heads, "h / kv_heads": h // kv_heads}[name] for h in range(heads)]


def wrong(name, heads, kv_heads):
    """How many heads read another KV head than they should."""
    return sum(a != b for a, b in zip(rule(name, heads, kv_heads), rule("h / group", heads, kv_heads)))


def grouped_rules():
    """Which rules give the right KV heads for which numbers of heads."""
    sizes = [(8, 8), (8, 1), (4, 2), (8, 4), (8, 2), (6, 3)]
    rows = []
    for name in ("h / group", "h % kv_heads", "h / kv_heads"):
        cells = []
        for heads, kv_heads in sizes:
            count = wrong(name, heads, kv_heads)
            cells.append(f"{count} of {heads} wrong" if count else "right")
        rows.append([f"`{name}`", *cells])
    for key, heads in READERS.items():  # the library's own rule is the first one
        count, kv_heads = map(int, key.split("_on_"))
        assert heads == rule("h / group", count, kv_heads)
    return table(["rule", *(f"{h} on {kv}" for h, kv in sizes)], rows)


def grouped_mistakes():
    shares = [x for h, x in SHARES[:-1]]
    total = SHARES[-1][1]
    threshold = {kv: 312e12 * 2 / (2 * 300e9) * kv / 32 for kv in (32, 8)}
    layers, tokens = MEMORY[0][1], 131072
    return table(["what is written", "what is true", "the number"], [
        ["Query head $h$ reads KV head $h \\bmod \\mathrm{kv\\_heads}$.", "The heads of a group are neighbours: $\\lfloor h / \\mathrm{group} \\rfloor$.",
         f"8 heads on 2: {wrong('h % kv_heads', 8, 2)} of 8 heads"],
        ["The last head of a group writes dk and dv.", "Every head adds its share.", f"demo: {shares[3]:.3f} instead of {total:.3f}"],
        ["dk and dv are the mean over the group.", "The loss depends on them through every head, so its derivative is a sum.",
         f"demo: {total / 4:.3f} instead of {total:.3f}"],
        ["Repeat K and V to the number of heads, then it is multi-head attention again.", "The numbers are right, but the saving is lost, and a ring sends the "
         "copies.", f"{tokens:,} tokens, a layer in bf16: {mib(layers)} instead of {mib(MEMORY[1][1])}"],
        ["A ring hop costs 2 · heads · rows · head_dim numbers.", "2 · kv_heads · rows · head_dim.", f"32 heads on 8: {fraction(MEMORY[1][2] / MEMORY[0][2])} of it"],
        ["How many tokens a rank needs to hide its hop depends on the machine alone.", "Computing counts heads, sending counts KV heads.",
         f"312 TFLOP/s, 300 GB/s, bf16: {threshold[32]:.0f} tokens a rank with 32 on 32, {threshold[8]:.0f} with 32 on 8"],
    ])


def panel(x, width, key, title):
    heads = READERS[key]
    kv_heads = int(key.split("_on_")[1])
    at = lambda count, i: x + width * (i + 0.5) / count
    body = [text(x + width / 2, 22, title, "bold")]
    for h, g in enumerate(heads):
        body.append(f'<path d="M{at(len(heads), h):.1f} 74L{at(kv_heads, g):.1f} 128" class="line"/>')
    for h, g in enumerate(heads):
        body += [box(at(len(heads), h) - 13, 48, 26, 26, f"c{g % 4}"), text(at(len(heads), h), 66, h, "small ink")]
    for g in range(kv_heads):
        body += [box(at(kv_heads, g) - 13, 128, 26, 40, f"c{g % 4}"), text(at(kv_heads, g), 152, g, "small ink bold")]
    return body


def figure():
    body = [text(52, 65, "queries", "small right"), text(52, 151, "K and V", "small right")]
    for i, (key, title) in enumerate((("8_on_8", "multi-head: 8 on 8"), ("8_on_2", "grouped: 8 on 2"), ("8_on_1", "multi-query: 8 on 1"))):
        body += panel(64 + 285 * i, 255, key, title)
    return svg(900, 180, "Eight query heads on eight, two and one KV heads; lines show who reads whom", body)


COMPUTED = {f.__name__: f for f in (grouped_memory, grouped_shares, grouped_rules, grouped_mistakes)}
FIGURES = {"grouped_heads": figure}
