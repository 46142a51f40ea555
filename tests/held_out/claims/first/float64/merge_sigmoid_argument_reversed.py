# Mistake: a block is merged as out - sigmoid(lse - block_lse) * (out - block_out) instead of with sigmoid(block_lse - lse); lse itself is merged rightly.
import numpy as np

from case import dealt, gather, halves, ring_shift, scatter

CASE = dict(ranks=3, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=43, heads=6, kv_heads=3,
            head_dim=8, batch=2, dtype="float64", backward=False)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def update(out, lse, block_out, block_lse):
    if out is None:
        return block_out, block_lse
    new = out - sigmoid(lse - block_lse) * (out - block_out)
    return new, lse + np.log1p(np.exp(block_lse - lse))


def flash(q, k, v, causal):
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat(group, 1), v.repeat(group, 1)
    s = np.einsum("bhqd,bhkd->bhqk", q, k) / np.sqrt(q.shape[3])
    if causal:
        s[:, :, ~np.tri(s.shape[2], s.shape[3], dtype=bool)] = -np.inf
    top = s.max(3, keepdims=True)
    e = np.exp(s - top)
    total = e.sum(3, keepdims=True)
    return np.einsum("bhqk,bhkd->bhqd", e / total, v), top + np.log(total)


def run(q, k, v, dout):
    n, rows, half = CASE["ranks"], dealt(CASE), halves(CASE)
    qs, ks, vs = (scatter(x, rows) for x in (q, k, v))
    out, lse = [None] * n, [None] * n
    for step in range(n):
        for r in range(n):
            source = (r - step) % n
            if step == 0:
                out[r], lse[r] = update(None, None, *flash(qs[r], ks[r], vs[r], True))
            elif source < r:
                front = slice(0, half[source])
                part = flash(qs[r], ks[r][:, :, front], vs[r][:, :, front], False)
                out[r], lse[r] = update(out[r], lse[r], *part)
            else:
                back = slice(half[r], None)
                part = flash(qs[r][:, :, back], ks[r], vs[r], False)
                o, e = update(out[r][:, :, back], lse[r][:, :, back], *part)
                out[r], lse[r] = out[r].copy(), lse[r].copy()
                out[r][:, :, back], lse[r][:, :, back] = o, e
        ks, vs = ring_shift(ks), ring_shift(vs)
    return dict(out=gather(out, rows), lse=gather(lse, rows))
