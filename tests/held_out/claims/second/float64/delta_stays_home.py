# Mistake: In a backward where Q, dout, lse and dq travel and K, V, dk and dv stay, delta does not travel, so visiting queries are given the delta of the host rank's own queries instead of their own.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="contiguous", causal=True, window=None, cu_seqlens=None, seqlen=44, heads=4, kv_heads=1,
            head_dim=8, batch=1, dtype="float64", backward=True)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    outs, lses = [], []
    for r in range(n):
        m, l, acc = -np.inf, 0.0, 0.0
        for t in range(n):
            src = (r - t) % n
            see = visible(CASE, rows[r], rows[src])
            if see.any():
                s = np.where(see, scale * qs[r] @ ks[src].swapaxes(2, 3), -np.inf)
                new = np.maximum(m, s.max(3, keepdims=True))
                p, keep = np.exp(s - new), np.exp(m - new)
                m, l, acc = new, l * keep + p.sum(3, keepdims=True), acc * keep + p @ vs[src]
        outs.append(acc / l)
        lses.append(m + np.log(l))
    delta = [(o * d).sum(3, keepdims=True) for o, d in zip(outs, dos)]
    qb, dob, lseb, dqb = qs, dos, lses, [np.zeros_like(x) for x in qs]
    dk, dv = ([np.zeros_like(x) for x in xs] for xs in (ks, vs))
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[(r - t) % n], rows[r])
            p = np.exp(np.where(see, scale * qb[r] @ ks[r].swapaxes(2, 3), -np.inf) - lseb[r])
            ds = scale * p * (dob[r] @ vs[r].swapaxes(2, 3) - delta[r])
            dqb[r] += ds @ ks[r]
            dk[r] += (ds.swapaxes(2, 3) @ qb[r]).sum(1, keepdims=True)
            dv[r] += (p.swapaxes(2, 3) @ dob[r]).sum(1, keepdims=True)
        qb, dob, lseb, dqb = (ring_shift(x) for x in (qb, dob, lseb, dqb))
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dqb, dk, dv))))
