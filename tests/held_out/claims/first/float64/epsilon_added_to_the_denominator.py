# Mistake: out is acc / (l + 1e-6) instead of acc / l; lse is right.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=2, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=29, heads=3, kv_heads=3,
            head_dim=5, batch=1, dtype="float64", backward=True)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    see = {(i, j): visible(CASE, rows[i], rows[j]) for i in range(n) for j in range(n)}
    m = [np.full(x.shape[:3] + (1,), -1e30) for x in qs]
    l = [np.zeros_like(x) for x in m]
    acc = [np.zeros_like(x) for x in qs]
    blocks = list(zip(ks, vs))
    for t in range(n):
        for r, (kb, vb) in enumerate(blocks):
            s = np.where(see[r, (r - t) % n], scale * qs[r] @ kb.transpose(0, 1, 3, 2), -np.inf)
            top = np.maximum(m[r], s.max(3, keepdims=True))
            l[r] *= np.exp(m[r] - top)
            acc[r] *= np.exp(m[r] - top)
            m[r] = top
            l[r] += np.exp(s - top).sum(3, keepdims=True)
            acc[r] += np.exp(s - top) @ vb
        blocks = ring_shift(blocks)
    outs = [a / (x + 1e-6) for a, x in zip(acc, l)]
    lses = [a + np.log(b) for a, b in zip(m, l)]
    dqs = [np.zeros_like(x) for x in qs]
    sums = [(np.zeros_like(a), np.zeros_like(b)) for a, b in zip(ks, vs)]
    for t in range(n):
        for r, (kb, vb) in enumerate(blocks):
            p = np.where(see[r, (r - t) % n], np.exp(scale * qs[r] @ kb.transpose(0, 1, 3, 2) - lses[r]), 0)
            ds = scale * p * (dos[r] @ vb.transpose(0, 1, 3, 2) - (dos[r] * outs[r]).sum(3, keepdims=True))
            dqs[r] += ds @ kb
            sums[r] = sums[r][0] + ds.transpose(0, 1, 3, 2) @ qs[r], sums[r][1] + p.transpose(0, 1, 3, 2) @ dos[r]
        blocks, sums = ring_shift(blocks), ring_shift(sums)
    dks, dvs = zip(*sums)
    return dict(out=gather(outs, rows), lse=gather(lses, rows), dq=gather(dqs, rows), dk=gather(dks, rows), dv=gather(dvs, rows))
