# Mistake: Every rank labels its rows with documents by their local index and cu_seqlens // ranks (as if each document were cut over all ranks), instead of by their position in the sequence and cu_seqlens itself; the causal comparison uses the true positions.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=3, layout="contiguous", causal=True, window=None, cu_seqlens=[0, 9, 27, 45], seqlen=45, heads=2,
            kv_heads=1, head_dim=8, batch=1, dtype="float64", backward=True)


def local_documents():
    borders = np.array(CASE["cu_seqlens"]) // CASE["ranks"]
    return np.repeat(np.arange(len(borders) - 1), np.diff(borders))


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    doc = local_documents()
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))

    def mask(r, src):
        return (doc[:, None] == doc[None, :]) & (rows[src][None, :] <= rows[r][:, None])

    outs, lses = [], []
    for r in range(n):
        m, l, acc = -np.inf, 0.0, 0.0
        for t in range(r + 1):
            kk, vv = ring_shift(ks, t)[r], ring_shift(vs, t)[r]
            s = np.where(mask(r, r - t), scale * qs[r] @ kk.swapaxes(2, 3), -np.inf)
            new = np.maximum(m, s.max(3, keepdims=True))
            p, keep = np.exp(s - new), np.exp(m - new)
            m, l, acc = new, l * keep + p.sum(3, keepdims=True), acc * keep + p @ vv
        outs.append(acc / l)
        lses.append(m + np.log(l))
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    kb, vb = ks, vs
    for t in range(n):
        for r in range(t, n):
            p = np.exp(np.where(mask(r, r - t), scale * qs[r] @ kb[r].swapaxes(2, 3), -np.inf) - lses[r])
            ds = scale * p * (dos[r] @ vb[r].swapaxes(2, 3) - (outs[r] * dos[r]).sum(3, keepdims=True))
            dq[r] += ds @ kb[r]
            dk[r] += (ds.swapaxes(2, 3) @ qs[r]).sum(1, keepdims=True)
            dv[r] += (p.swapaxes(2, 3) @ dos[r]).sum(1, keepdims=True)
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
