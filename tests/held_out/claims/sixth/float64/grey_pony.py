# Mistake: when a block raises the running maximum the accumulator is scaled down to it, the running sum is not.
import numpy as np

from case import dealt, gather, scatter

CASE = dict(ranks=3, layout="contiguous", causal=False, window=None, cu_seqlens=None, seqlen=41, heads=3, kv_heads=3,
            head_dim=4, batch=2, dtype="float64", backward=False)


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    K, V = scatter(k, rows), scatter(v, rows)
    outs, lses = [], []
    for r, qr in enumerate(scatter(q, rows)):
        B, H, T, D = qr.shape
        mx, sm, acc = np.full((B, H, T), -np.inf), np.zeros((B, H, T)), np.zeros((B, H, T, D))
        for step in range(n):
            src = (r - step) % n
            s = np.einsum("bhid,bhjd->bhij", qr, K[src]) / np.sqrt(D)
            nmx = np.maximum(mx, s.max(axis=3))
            alpha = np.exp(mx - nmx)
            w = np.exp(s - nmx[..., None])
            sm += w.sum(axis=3)
            acc = acc * alpha[..., None] + np.einsum("bhij,bhjd->bhid", w, V[src])
            mx = nmx
        outs.append(acc / sm[..., None])
        lses.append((mx + np.log(sm))[..., None])
    return {"out": gather(outs, rows), "lse": gather(lses, rows)}
