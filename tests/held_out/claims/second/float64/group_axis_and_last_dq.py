# Mistake: Two mistakes: dk of key head j sums the query heads j, j + kv_heads, j + 2 kv_heads, .. instead of the group of adjacent query heads that reads key head j (dv is summed rightly); and dq lacks the block of the last ring step (source rank r + 1) instead of summing all blocks.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="zigzag-token", causal=True, window=None, cu_seqlens=None, seqlen=41, heads=6, kv_heads=2,
            head_dim=8, batch=1, dtype="float64", backward=True)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    H, G = CASE["heads"], CASE["kv_heads"]
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    wide = lambda x: x[:, np.arange(H) * G // H]

    def sum_k(x):
        return x.reshape(x.shape[0], H // G, G, x.shape[2], x.shape[3]).sum(1)

    def sum_v(x):
        return np.stack([x[:, H // G * j:H // G * (j + 1)].sum(1) for j in range(G)], 1)

    m = [np.full(x.shape[:3] + (1,), -np.inf) for x in qs]
    l = [np.zeros_like(x) for x in m]
    acc = [np.zeros_like(x) for x in qs]
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            s = np.where(visible(CASE, rows[r], rows[(r - t) % n]), scale * qs[r] @ wide(kb[r]).swapaxes(2, 3), -np.inf)
            new = np.maximum(m[r], s.max(3, keepdims=True))
            p, keep = np.exp(s - new), np.exp(m[r] - new)
            m[r], l[r], acc[r] = new, keep * l[r] + p.sum(3, keepdims=True), keep * acc[r] + p @ wide(vb[r])
        kb, vb = ring_shift(kb), ring_shift(vb)
    outs = [a / b for a, b in zip(acc, l)]
    lses = [a + np.log(b) for a, b in zip(m, l)]
    deltas = [(o * d).sum(3, keepdims=True) for o, d in zip(outs, dos)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            p = np.exp(np.where(see, scale * qs[r] @ wide(kb[r]).swapaxes(2, 3), -np.inf) - lses[r])
            ds = scale * p * (dos[r] @ wide(vb[r]).swapaxes(2, 3) - deltas[r])
            dk[r] += sum_k(ds.swapaxes(2, 3) @ qs[r])
            dv[r] += sum_v(p.swapaxes(2, 3) @ dos[r])
            if t < n - 1:
                dq[r] += ds @ wide(kb[r])
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
