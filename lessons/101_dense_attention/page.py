"""Tables and the figure of lesson 101."""
import math

from drawing import box, svg, text
from lesson_pages import demo, rows
from tables import number, table

DEMO = demo(__file__)
SCORES, VALUES = [1, 3, 0, 2], [4, 1, 8, 2]  # scores in units of ln 2
GIB, LIMIT = 2.0**30, 80  # bytes; GiB of one device
HEADS, TWO_BYTES = 32, 2
LAYERS, WIDTH, RANKS = 32, 32 * 128, 8  # a model of 32 layers of the layer in the demo; the ranks of its ring


def mean(weights):
    return sum(w * v for w, v in zip(weights, VALUES)) / sum(weights)


def pieces(title):
    return rows(DEMO, title)


def dense_example():
    body = pieces("key q.k  weight value weight*value")
    powers = [2**score for score in SCORES]
    for (_, dot, weight, value, _), score, power, v in zip(body, SCORES, powers, VALUES):
        assert (dot, value) == (score, v) and abs(weight - power / sum(powers)) < 1e-4
    out, lse = mean(powers), math.log(sum(powers))
    assert f"out {out:.4f} lse {lse:.4f}" in DEMO
    lines = [[j, dot, f"$2^{{{dot}}} = {2**dot}$", f"{2**dot}/{sum(powers)} = {weight:.4f}", value, f"{product:.4f}"]
             for j, dot, weight, value, product in body]
    return (table(["key", r"$q \cdot k_j$", "$e^{s_j}$", "weight", "value", "weight times value"], lines) + f"""
The sum of the exponentials is {sum(powers)}, so $\\mathrm{{lse}} = \\ln {sum(powers)} = {lse:.4f}$, and $\\mathrm{{out}} = {out:.4f}$, the sum of the last
column. The value 8 is the largest, and its weight the smallest.
""")


def interval(tokens, left, starts):
    """begin and end of every row: `left` keys back, itself, nothing later, within its sequence."""
    start = [max(s for s in starts if s <= row) for row in range(tokens)]
    return [max(start[row], row - left) for row in range(tokens)], [row + 1 for row in range(tokens)]


def mask_ranges():
    lines = []
    for name, left, starts in [("causal", 9, [0]), ("a window of 2: itself and two before it", 2, [0]), ("causal, two packed sequences of 2 and 4", 9, [0, 2])]:
        begin, end = interval(6, left, starts)
        lines.append([name, ", ".join(map(str, begin)), ", ".join(map(str, end)), sum(e - b for b, e in zip(begin, end))])
    lines.insert(0, ["full", ", ".join(["0"] * 6), ", ".join(["6"] * 6), 36])
    return table(["mask", "begin of the rows", "end of the rows", "pairs"], lines)


def wall_measured():
    lines, previous = [], None
    for tokens, dense, blockwise in pieces("tokens dense_bytes blockwise_bytes"):
        growth = [f"{dense / previous[0]:.2f}", f"{blockwise / previous[1]:.2f}"] if previous else ["", ""]
        lines.append([tokens, f"{dense:,}", growth[0], f"{blockwise:,}", growth[1]])
        previous = dense, blockwise
    return table(["tokens", "dense, bytes", "times", "without the matrix, bytes", "times"], lines)


def wall():
    return pieces(" tokens one_score_matrix all_score_matrices forward backward of_8: forward backward")


def gib(x):
    return f"{x:,.3g}" if x < 100 else f"{x:,.0f}"


def inputs(tokens):
    """GiB of the input of each layer, which the backward pass needs."""
    return LAYERS * tokens * WIDTH * TWO_BYTES / GIB


def training():
    """(tokens, GiB of one device, GiB of each of RANKS ranks): the inputs of all layers, and the peak of one backward pass without scores."""
    return [(tokens, inputs(tokens) + layer, inputs(tokens) / RANKS + rank) for tokens, _, _, _, layer, _, rank in wall()]


def wall_theory():
    sizes = {tokens: [one, every, layer, rank] for tokens, one, every, layer, _, rank, _ in wall()}
    for tokens, device, rank in training():
        sizes[tokens] += [device, rank]
    return table(["tokens", "scores of one head", f"scores of {HEADS} heads", "one layer, forward: one device", f"each of {RANKS} ranks",
                  f"{LAYERS} layers, training: one device", f"each of {RANKS} ranks"],
                 [[f"{tokens:,}", *(f"{gib(x)} GiB" for x in sizes[tokens])] for tokens in (8192, 65536, 131072, 1048576)])


def wall_crossed():
    tokens, device, rank = training()[-1]
    layer, of_rank = wall()[-1][4], wall()[-1][6]
    per_token = device / tokens  # all of it is linear
    most = math.floor(LIMIT / per_token / 1000) * 1000
    assert all(abs(d / t / per_token - 1) < 0.01 for t, d, _ in training()) and rank < LIMIT < device
    return f"""On a device of {LIMIT} GiB the {LAYERS} layers fit with at most {most:,} tokens; {tokens:,} tokens need {gib(device)} GiB. Each of {RANKS} ranks needs {gib(rank)} GiB: {gib(inputs(tokens) / RANKS)} GiB, an eighth of the layers'
inputs, and {gib(of_rank)} GiB for the layer in progress. That is twice an eighth of {gib(layer)} GiB, because K, V and their gradients travel: a rank holds three KV blocks and the
gradients of three, where one device holds one of each.
"""


def one_against_many():
    scores = {tokens: all_heads for tokens, _, all_heads, *_ in wall()}
    borders = {tokens: inputs(tokens) for tokens in scores}
    return f"""* *Which memory grows, with the same parameters?* Parameters, gradients and optimizer state do not depend on the length. (With Adam in mixed precision they are 16 bytes for
  each of 7 billion parameters, {16 * 7} GB, so some of that must be offloaded or frozen already.) The scores do: {HEADS} heads in two bytes take {gib(scores[8192])} GiB per layer at 8192
  tokens and {gib(scores[65536])} GiB at 65536, {gib(scores[65536] / scores[8192])} times as much. (Not even at 8192 could all {LAYERS} layers keep theirs: {gib(LAYERS * scores[8192])} GiB. One layer at a time recomputes them.)
* *Would more devices with FSDP help?* Not with the scores. FSDP shards parameters, gradients and optimizer state, which frees memory, but each device still holds the activations of its whole
  sequence, and {gib(scores[65536])} GiB of scores fit on no device, however much is freed. The activations themselves must be split: along the tokens, which is context parallelism, or along the heads, as tensor parallelism
  ([arXiv:1909.08053](https://arxiv.org/abs/1909.08053)) and Ulysses ([arXiv:2309.14509](https://arxiv.org/abs/2309.14509)) do it. A head needs no keys of another head, but there are only {HEADS} heads,
  and often fewer KV heads (lesson 107); the number of tokens sets no such limit.
* *Is FlashAttention alone enough, which never stores the scores?* As long as the memory that grows linearly fits. The input of each layer alone, {WIDTH} numbers per token
  in two bytes, over {LAYERS} layers: {gib(borders[8192])} GiB at 8192 tokens, {gib(borders[65536])} GiB at 65536, but {gib(borders[1048576])} GiB at a million. Then they must be kept for fewer layers, moved to
  the host's memory, or split over devices.
"""


def dense_mistakes():
    powers = [2.0**s for s in SCORES]
    right = mean([*powers[:3], 0])  # the query may see the first three keys
    after = right * sum(powers[:3]) / sum(powers)
    tokens, heads = 128000, 32
    ratios = ", ".join(f"{dense / blockwise:.1f}" for _, dense, blockwise in pieces("tokens dense_bytes blockwise_bytes"))
    one_head = {tokens: size for tokens, size, *_ in wall()}
    split = lambda power: ", ".join(gib(one_head[131072] / p**power) for p in (1, 2, 4, 8))
    return table(["what is written", "what is true", "the number"], [
        ["Set masked scores to 0.", "$e^0 = 1$: a masked key votes. Its weight must be 0, not its score.",
         f"query of the example, last key masked: {mean([*powers[:3], 1]):.4f} instead of {right:.4f}"],
        ["Compute softmax, then set masked weights to 0.", "Then the weights no longer add up to 1.", f"the same: {after:.4f} instead of {right:.4f}"],
        ["Set masked scores to $-10^9$; then no row is special.", "A row without a key then sees all keys alike, and returns their mean.",
         f"no key visible: {sum(VALUES) / 4:g} instead of 0"],
        ["Scores of $S$ tokens and $h$ heads take $h \\cdot S^2$ bytes.", "Numbers, not bytes.",
         f"{heads} heads, {tokens:,} tokens: {heads * tokens**2 / 1e9:.1f} G numbers, {heads * tokens**2 * TWO_BYTES / 1e9:.1f} GB in two bytes each"],
        ["8K tokens take 2 GB of scores; 128K take 16 GB.", "16 times the tokens have 256 times the scores, not 8 times. And a figure without the number of heads and the bytes of a score says nothing.",
         f"one head, two bytes: {gib(one_head[8192])} GiB and {gib(one_head[131072])} GiB"],
        ["FlashAttention lowers the constant in front of $S^2$.", "It lowers the order, to $S$.",
         f"dense over blockwise as measured above: {ratios}, and on"],
        ["On $N$ devices the scores of $S$ tokens take $S^2/N^2$ each.", "If each block of $S/N$ queries and $S/N$ keys is thrown away before the next one. All "
         "blocks of a device together are $S^2/N$.",
         f"128K tokens, one head, $N$ = 1, 2, 4, 8: {split(2)} GiB against {split(1)} GiB"],
    ])


def figure():
    """GiB against tokens, both logarithmic."""
    lines = wall()
    left, right, top, bottom = 90, 640, 30, 330
    low, high = -4, 17  # powers of two of the axis, GiB
    first, last = math.log2(lines[0][0]), math.log2(lines[-1][0])
    x = lambda tokens: left + (math.log2(tokens) - first) / (last - first) * (right - left)
    y = lambda size: bottom - (math.log2(size) - low) / (high - low) * (bottom - top)
    body = []
    for power in range(-4, 17, 4):
        label = f"{2**power} GiB" if power >= 0 else f"1/{2**-power} GiB"
        body += [f'<path d="M{left} {y(2.0**power):.1f}H{right}" class="thin" opacity="0.35"/>', text(left - 8, y(2.0**power) + 4, label, "small right")]
    for tokens in (8192, 32768, 131072, 524288):
        body.append(text(x(tokens), bottom + 22, f"{tokens // 1024}K", "small"))
    body += [text(x(1048576), bottom + 22, "1M tokens", "small"),
             f'<path d="M{left} {y(LIMIT):.1f}H{right}" class="line" stroke-dasharray="6 5"/>',
             text(right + 10, y(LIMIT) - 4, f"a device of {LIMIT} GiB", "small left")]
    curves = [(f"scores of {HEADS} heads", "c3", [(row[0], row[2]) for row in lines]),
              ("scores of one head", "c1", [(row[0], row[1]) for row in lines]),
              (f"{LAYERS} layers, no scores", "c0", [(tokens, device) for tokens, device, _ in training()]),
              (f"the same, each of {RANKS} ranks", "c2", [(tokens, rank) for tokens, _, rank in training()])]
    for name, colour, sizes in curves:
        points = [(x(tokens), y(size)) for tokens, size in sizes]
        body.append('<polyline class="line" points="' + " ".join(f"{px:.1f},{py:.1f}" for px, py in points) + '"/>')
        body += [box(px - 5, py - 5, 10, 10, colour, 5) for px, py in points]
        body.append(text(right + 10, points[-1][1] + 5, name, "small left"))
    return svg(830, 370, "Memory against the number of tokens: scores of a layer, and training without scores on one device and on 8 ranks", body)


COMPUTED = {f.__name__: f for f in (dense_example, mask_ranges, wall_measured, wall_theory, wall_crossed, one_against_many, dense_mistakes)}
FIGURES = {"memory_wall": figure}
