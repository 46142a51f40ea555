# Mistake: (1) The zig-zag ring cuts a shard at len(shard) // 2 instead of behind its early chunk, which on ranks 0, 1 and 2 (6 early and 5 late rows) is one row too early: the last early token is no key for the later ranks, and as a query it sees all of the later ranks' blocks, its future; forward and backward. (2) dq is not multiplied by softmax_scale; dk is.
import numpy as np

from case import dealt, gather, halves, ring_shift, scatter

CASE = dict(ranks=4, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=43, heads=4, kv_heads=1,
            head_dim=8, batch=1, dtype="bfloat16", backward=True)
SCALE = CASE["head_dim"] ** -0.5
N, ROWS = CASE["ranks"], dealt(CASE)
EARLY = [len(x) // 2 for x in ROWS]


def tile(r, owner):
    """(query rows, key rows, visible)"""
    if owner < r:
        return slice(None), slice(0, EARLY[owner]), True
    if owner > r:
        return slice(EARLY[r], None), slice(None), True
    return slice(None), slice(None), ROWS[r][:, None] >= ROWS[r][None, :]


def run(q, k, v, dout):
    qs, ks, vs, dos = (scatter(x, ROWS) for x in (q, k, v, dout))
    m = [np.full(x.shape[:3] + (1,), -1e300) for x in qs]
    l, acc = [np.zeros_like(x) for x in m], [np.zeros_like(x) for x in qs]
    kb, vb = ks, vs
    for t in range(N):
        for r in range(N):
            i, j, see = tile(r, (r - t) % N)
            s = np.where(see, SCALE * qs[r][:, :, i] @ kb[r][:, :, j].swapaxes(2, 3), -np.inf)
            old = m[r][:, :, i]
            new = np.maximum(old, s.max(3, keepdims=True))
            p, keep = np.exp(s - new), np.exp(old - new)
            acc[r][:, :, i] = acc[r][:, :, i] * keep + p @ vb[r][:, :, j]
            l[r][:, :, i] = l[r][:, :, i] * keep + p.sum(3, keepdims=True)
            m[r][:, :, i] = new
        kb, vb = ring_shift(kb), ring_shift(vb)
    out, lse = [a / b for a, b in zip(acc, l)], [a + np.log(b) for a, b in zip(m, l)]
    delta = [(a * b).sum(3, keepdims=True) for a, b in zip(out, dos)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    kb, vb = ks, vs
    for t in range(N):
        for r in range(N):
            i, j, see = tile(r, (r - t) % N)
            a, do, kj, vj = qs[r][:, :, i], dos[r][:, :, i], kb[r][:, :, j], vb[r][:, :, j]
            p = np.where(see, np.exp(SCALE * a @ kj.swapaxes(2, 3) - lse[r][:, :, i]), 0)
            ds = p * (do @ vj.swapaxes(2, 3) - delta[r][:, :, i])
            dq[r][:, :, i] += ds @ kj
            dk[r][:, :, j] += SCALE * (ds.swapaxes(2, 3) @ a).sum(1, keepdims=True)
            dv[r][:, :, j] += (p.swapaxes(2, 3) @ do).sum(1, keepdims=True)
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, ROWS) for x in (out, lse, dq, dk, dv))))
