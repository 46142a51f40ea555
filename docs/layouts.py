"""Layouts in Python: which rank holds which token, for figures and worked tables (the library's own: src/ringcraft/problem/layout.hpp)."""


def chunks(seqlen, count):
    """`count` consecutive pieces; the first (seqlen mod count) are one longer, as numpy.array_split cuts."""
    short, longer = divmod(seqlen, count)
    ends = [i * short + min(i, longer) for i in range(count + 1)]
    return [list(range(ends[i], ends[i + 1])) for i in range(count)]


def positions(layout, seqlen, ranks, rank):
    """The positions of one rank, increasing."""
    if layout == "contiguous":
        return chunks(seqlen, ranks)[rank]
    pieces = chunks(seqlen, 2 * ranks)  # zigzag
    return pieces[rank] + pieces[2 * ranks - 1 - rank]


def source(rank, step, ranks):
    """The owner of the block that a rank holds at a step."""
    return (rank - step) % ranks


def causal_pairs(layout, seqlen, ranks, rank, block):
    """Visible (query, key) pairs of a rank's queries against a block under a causal mask, the diagonal included."""
    keys = positions(layout, seqlen, ranks, block)
    return sum(key <= query for query in positions(layout, seqlen, ranks, rank) for key in keys)
