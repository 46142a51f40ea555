# Mistake: after the second all-to-all the received pieces are [from rank, heads of that rank]; they were flattened with
# the rank innermost, so the heads of the output come back interleaved.
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=4, layout="contiguous", causal=True, window=None, cu_seqlens=None, seqlen=50, heads=8, kv_heads=8,
            head_dim=4, batch=1, dtype="float32", backward=False)
N = CASE["ranks"]


def heads_for_rows(parts, rows):
    """All-to-all: rank r gives rank u heads u of its rows; u holds its heads for the whole sequence."""
    per = CASE["heads"] // N
    return [gather([x[:, u * per:(u + 1) * per] for x in parts], rows) for u in range(N)]


def rows_for_heads(parts, rows):
    """The way back: rank r gets its rows of the heads of every u."""
    back = []
    for p in rows:
        pieces = np.stack([x[:, :, p] for x in parts])
        u, b, h, t, d = pieces.shape
        back.append(pieces.transpose(1, 2, 0, 3, 4).reshape(b, u * h, t, d))
    return back


def run(q, k, v, dout):
    rows = dealt(CASE)
    every = np.arange(CASE["seqlen"])
    qh, kh, vh = (heads_for_rows(scatter(x, rows), rows) for x in (q, k, v))
    out, lse = [], []
    for a, b, c in zip(qh, kh, vh):
        s = np.where(visible(CASE, every, every), np.float32(CASE["head_dim"] ** -0.5) * a @ b.swapaxes(2, 3), np.float32(-np.inf))
        top = s.max(3, keepdims=True)
        e = np.exp(s - top)
        out.append(e @ c / e.sum(3, keepdims=True))
        lse.append(top + np.log(e.sum(3, keepdims=True)))
    return dict(out=gather(rows_for_heads(out, rows), rows), lse=gather(rows_for_heads(lse, rows), rows))
