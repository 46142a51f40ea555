# Mistake: q is scaled before the ring and saved so; the backward multiplies the recomputed scores by the scale again.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=66, heads=2, kv_heads=1,
            head_dim=8, batch=2, dtype="float64", backward=True)


def masked(x, see):
    return np.where(see, x, -np.inf)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    g = CASE["heads"] // CASE["kv_heads"]
    saved_q = scatter(q * scale, rows)
    ks, vs, dos = scatter(k, rows), scatter(v, rows), scatter(dout, rows)
    kv = [np.stack(x) for x in zip(ks, vs)]
    O, L = [0.0] * n, [-np.inf] * n
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[r - t])
            if not see.any():
                continue
            kb, vb = (x.repeat(g, axis=1) for x in kv[r])
            s = masked(saved_q[r] @ kb.swapaxes(2, 3), see)
            bl = np.logaddexp.reduce(s, axis=3, keepdims=True)
            L2 = np.logaddexp(L[r], bl)
            O[r], L[r] = O[r] * np.exp(L[r] - L2) + np.exp(s - L2) @ vb, L2
        kv = ring_shift(kv)
    dq = [np.zeros_like(x) for x in saved_q]
    dkv = [np.zeros_like(x) for x in kv]
    for t in range(n):
        for r in range(n):
            kb, vb = (x.repeat(g, axis=1) for x in kv[r])
            s = scale * saved_q[r] @ kb.swapaxes(2, 3)
            p = np.exp(masked(s, visible(CASE, rows[r], rows[r - t])) - L[r])
            ds = p * (dos[r] @ vb.swapaxes(2, 3) - (dos[r] * O[r]).sum(3, keepdims=True))
            dq[r] += scale * (ds @ kb)
            pair = np.stack([ds.swapaxes(2, 3) @ saved_q[r], p.swapaxes(2, 3) @ dos[r]])
            dkv[r] += pair.reshape(2, pair.shape[1], -1, g, *pair.shape[3:]).sum(3)
        kv, dkv = ring_shift(kv), ring_shift(dkv)
    return dict(out=gather(O, rows), lse=gather(L, rows), dq=gather(dq, rows),
                dk=gather([x[0] for x in dkv], rows), dv=gather([x[1] for x in dkv], rows))
