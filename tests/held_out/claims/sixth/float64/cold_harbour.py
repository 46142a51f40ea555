# Mistake: the blocks are passed to rank + 1, so at step t rank r holds the block of rank r - t;
# the mask's key positions were taken from rank r + t.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=5, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=60, heads=4, kv_heads=4,
            head_dim=8, batch=1, dtype="float64", backward=True)
N = CASE["ranks"]
SCALE = CASE["head_dim"] ** -0.5


def scores(q, k, see):
    return np.where(see, np.einsum("bhqd,bhkd->bhqk", q, k) * SCALE, -np.inf)


def holder(r, t):
    return (r + t) % N


def run(q, k, v, dout):
    rows = dealt(CASE)
    qs, ks, vs, gs = [scatter(x, rows) for x in (q, k, v, dout)]
    state = [(np.full(x.shape[:3], -np.inf), np.zeros(x.shape[:3]), np.zeros(x.shape)) for x in qs]
    kv = list(zip(ks, vs))
    for t in range(N):
        for r in range(N):
            kb, vb = kv[r]
            s = scores(qs[r], kb, visible(CASE, rows[r], rows[holder(r, t)]))
            m, l, o = state[r]
            m2 = np.maximum(m, s.max(-1))
            e = np.exp(s - m2[..., None])
            c = np.exp(m - m2)
            state[r] = m2, l * c + e.sum(-1), o * c[..., None] + np.einsum("bhqk,bhkd->bhqd", e, vb)
        kv = ring_shift(kv)
    out = [o / l[..., None] for m, l, o in state]
    lse = [m + np.log(l) for m, l, o in state]
    delta = [np.einsum("bhqd,bhqd->bhq", o, g) for o, g in zip(out, gs)]
    dq = [np.zeros_like(x) for x in qs]
    grads = [(np.zeros_like(a), np.zeros_like(b)) for a, b in zip(ks, vs)]
    for t in range(N):
        for r in range(N):
            kb, vb = kv[r]
            p = np.exp(scores(qs[r], kb, visible(CASE, rows[r], rows[holder(r, t)])) - lse[r][..., None])
            dp = np.einsum("bhqd,bhkd->bhqk", gs[r], vb)
            ds = p * (dp - delta[r][..., None]) * SCALE
            dq[r] += np.einsum("bhqk,bhkd->bhqd", ds, kb)
            dk, dv = grads[r]
            grads[r] = dk + np.einsum("bhqk,bhqd->bhkd", ds, qs[r]), dv + np.einsum("bhqk,bhqd->bhkd", p, gs[r])
        kv, grads = ring_shift(kv), ring_shift(grads)
    return dict(out=gather(out, rows), lse=gather([x[..., None] for x in lse], rows), dq=gather(dq, rows),
                dk=gather([g[0] for g in grads], rows), dv=gather([g[1] for g in grads], rows))
