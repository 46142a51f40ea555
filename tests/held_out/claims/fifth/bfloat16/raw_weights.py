# Mistake: dv is formed from exp(s - max), with the row's maximum kept from the forward pass, and not divided by
# the row's sum; dq and dk use the right probabilities.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=5, layout="contiguous", causal=True, window=16, cu_seqlens=None, seqlen=57, heads=2, kv_heads=1,
            head_dim=8, batch=1, dtype="bfloat16", backward=True)


def run(q, k, v, dout):
    n, rows, c = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    Q, K, V, G = (scatter(x, rows) for x in (q, k, v, dout))
    M = [np.full(x.shape[:3] + (1,), -np.inf) for x in Q]
    L, O = [np.zeros(x.shape) for x in M], [np.zeros(x.shape) for x in Q]
    look = [[visible(CASE, a, b) for b in rows] for a in rows]
    ids, kb, vb = list(range(n)), K, V
    for _ in range(n):
        for r in range(n):
            s = np.where(look[r][ids[r]], c * Q[r] @ kb[r].swapaxes(2, 3), -np.inf)
            m = np.maximum(M[r], s.max(3, keepdims=True))
            z = np.where(np.isinf(m), 0, m)
            e, f = np.exp(s - z), np.exp(M[r] - z)
            M[r], L[r], O[r] = m, L[r] * f + e.sum(3, keepdims=True), O[r] * f + e @ vb[r]
        ids, kb, vb = (ring_shift(x) for x in (ids, kb, vb))
    O = [o / l for o, l in zip(O, L)]
    D = [(o * g).sum(3, keepdims=True) for o, g in zip(O, G)]
    dq, dk, dv = ([np.zeros(x.shape) for x in y] for y in (Q, K, V))
    for _ in range(n):
        for r in range(n):
            s = np.where(look[r][ids[r]], c * Q[r] @ kb[r].swapaxes(2, 3), -np.inf)
            e = np.exp(s - M[r])
            p = e / L[r]
            ds = p * (G[r] @ vb[r].swapaxes(2, 3) - D[r]) * c
            dq[r] = dq[r] + ds @ kb[r]
            dk[r] = dk[r] + (ds.swapaxes(2, 3) @ Q[r]).sum(1, keepdims=True)
            dv[r] = dv[r] + (e.swapaxes(2, 3) @ G[r]).sum(1, keepdims=True)
        ids, kb, vb, dk, dv = (ring_shift(x) for x in (ids, kb, vb, dk, dv))
    lse = [m + np.log(l) for m, l in zip(M, L)]
    return {name: gather(x, rows) for name, x in zip("out lse dq dk dv".split(), (O, lse, dq, dk, dv))}
