"""Tables and the figure of lesson 505."""
import lesson_pages
from drawing import box, svg, text
from tables import table

DEMO = lesson_pages.demo(__file__)
AXES = ["tp", "cp", "dp", "pp"]
ASKED = [("tp",), ("cp",), ("dp",), ("pp",), ("cp", "dp")]
SIZES = {"tp": 8, "cp": 2, "dp": 2, "pp": 2}
ORDERS = ["tp-cp-dp-pp", "cp-tp-dp-pp", "pp-dp-cp-tp"]
NODE = 8
TOKENS, HIDDEN, WIDTH, HEADS = 16, 10, 3, 4


def places():
    """Rank -> its coordinates tp, cp, dp, pp."""
    return {row[0]: row[1:] for row in lesson_pages.rows(DEMO, "rank: tp cp dp pp")}


def groups():
    """Axes -> (tokens in the sum over the group, its members), of rank 13."""
    rows = lesson_pages.rows(DEMO, "rank 13: tokens in a sum over tp, cp, dp, pp, cp and dp; members")
    return {axes: (row[0], row[1:]) for axes, row in zip(ASKED, rows, strict=True)}


def layers():
    """(tensor, context, sequence parallelism) -> tokens and bytes of rank 0, squares of z."""
    rows = lesson_pages.rows(DEMO, "tensor, context, sequence parallelism: tokens and bytes of rank 0; squares of z")
    return {tuple(row[:3]): row[3:] for row in rows}


def mesh_places():
    rows = [[f"rank {rank}", *at] for rank, at in places().items()]
    half = len(rows) // 2
    return table(["", *AXES] * 2, [rows[i] + rows[i + half] for i in range(half)])


def mesh_groups():
    rows, at = [], places()
    for axes, (_, members) in groups().items():
        fixed = [i for i, axis in enumerate(AXES) if axis not in axes]
        assert members == [r for r in at if all(at[r][i] == at[13][i] for i in fixed)]
        rows.append([" and ".join(axes), ", ".join(map(str, members))])
    return table(["along", "group of rank 13"], rows)


def nodes(order):
    """Axis -> nodes under the group of rank 0."""
    stride, found = 1, {}
    for axis in order.split("-"):
        found[axis] = len({k * stride // NODE for k in range(SIZES[axis])})
        stride *= SIZES[axis]
    return found


def mesh_nodes():
    return table(["order", *(f"{axis} {SIZES[axis]}" for axis in AXES)],
                 [[f"`{order}`", *(nodes(order)[axis] for axis in AXES)] for order in ORDERS])


def mesh_sums():
    each, batch = 4, 16
    told = {("dp",): "the other context rank's tokens are missing", ("cp", "dp"): "right: each token of the batch once"}
    rows = []
    for axes in [("dp",), ("cp", "dp")]:
        tokens, members = groups()[axes]
        assert tokens == each * len(members)
        rows.append([" and ".join(axes), tokens, f"{tokens / batch:g}", told[axes]])
    world = each * len(places())
    rows.append(["the world", world, f"{world / batch:g}", "each token once for every tensor and pipeline rank, whose weights are others"])
    rows.append(["cp and dp, divided by cp", batch // 2, "0.5", "a mean over context ranks, where the loss is a sum over tokens"])
    return table(["sum over", "tokens counted", "factor", ""], rows)


def mesh_layer():
    names = {0: "all-reduce", 1: "all-gather and reduce-scatter"}
    rows, want = [], layers()[1, 1, 0][2]
    for (tensor, context, split), (tokens, sent, squares) in layers().items():
        shard = TOKENS // context
        border = 2 * (tensor - 1) * -(-shard * HIDDEN // tensor) * 8
        ring = (context - 1) * 2 * HEADS // tensor * shard * WIDTH * 8
        assert sent == border + ring and tokens == shard // (tensor if split else 1) and squares == want
        rows.append([f"{tensor} x {context}", names[split] if tensor > 1 else "none", tokens, border, ring, f"{squares:.9f}"])
    return table(["tensor x context", "exchange over the tensor group", "tokens outside of attention", "its bytes", "bytes of the ring", "sum of the squares of all z"], rows)


def mesh_mistakes():
    ring = [rank // NODE for rank in range(0, 32, 8)]
    return table(["what is written", "what is true", "the number"], [
        ["A context group is a run of consecutive ranks.", "Only where context is the fastest axis. With tensor parallelism inside it, the members are tp ranks apart.",
         f"tp 2, cp 2: {', '.join(map(str, groups()[('cp',)][1]))}, not 12, 13"],
        ["With tp 8 and cp 4 each node of 8 becomes a ring of four.", "Each node is one tensor group. The ring has one rank on each of four nodes.",
         f"ranks 0, 8, 16, 24 on nodes {', '.join(map(str, ring))}"],
        ["Add gradients over the context group and divide by its size.", "Right for a loss that is a mean over the rank's own tokens, if all have as many. A sum over tokens is divided by nothing.",
         "cp 2: half of the gradient"],
        ["Weights are replicated over the context group, so that group is enough.", "Over context and data together: one group, one sum.",
         f"{groups()[('cp',)][0]} of 16 tokens"],
    ])


def figure():
    cell, body, at = 58, [], places()
    for pp in range(2):
        left = 20 + pp * 430
        body.append(box(left, 40, 405, 180, "card", 8))
        body.append(text(left + 202, 28, f"node {pp}: pp {pp}", "bold"))
        for dp in range(2):
            x, y = left + 45 + dp * 190, 90
            body.append(text(x + cell, y - 26, f"dp {dp}", "small"))
            for cp in range(2):
                if dp == 0:
                    body.append(text(x - 10, y + cp * cell + 34, f"cp {cp}", "small right"))
                for tp in range(2):
                    rank = next(r for r, place in at.items() if place == [tp, cp, dp, pp])
                    body.append(box(x + tp * cell + 2, y + cp * cell + 2, cell - 4, cell - 4, f"c{tp + 2 * pp}", 6))
                    body.append(text(x + (tp + 0.5) * cell, y + cp * cell + 35, rank, "ink"))
            for tp in range(2):
                body.append(text(x + (tp + 0.5) * cell, y - 8, f"tp {tp}", "small"))
    body.append(text(430, 243, "16 ranks in the order tp-cp-dp-pp. Ranks of one colour hold the same weights: one gradient group", "small"))
    return svg(860, 256, "A mesh of 2 x 2 x 2 x 2 ranks on two nodes", body)


COMPUTED = {f.__name__: f for f in (mesh_places, mesh_groups, mesh_nodes, mesh_sums, mesh_layer, mesh_mistakes)}
FIGURES = {"groups/mesh": figure}
