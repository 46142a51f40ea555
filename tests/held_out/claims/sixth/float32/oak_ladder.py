# Mistake: dk[:, kv_of] += x with one entry of kv_of per query head keeps only the last query head of each group:
# numpy does not add up repeated indices. np.add.at does.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=3, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=44, heads=6, kv_heads=3,
            head_dim=8, batch=2, dtype="float32", backward=True)
kv_of = np.arange(CASE["heads"]) // (CASE["heads"] // CASE["kv_heads"])


def accumulate(grad, x):
    grad[:, kv_of] += x


def probabilities(q, k, lse, see):
    s = np.einsum("bhqd,bhkd->bhqk", q, k[:, kv_of]) * np.float32(q.shape[-1] ** -0.5)
    return np.where(see, np.exp(s - lse), np.float32(0))


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), np.float32(CASE["head_dim"] ** -0.5)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    lses, outs = [], []
    for r in range(n):
        every = []
        for t in range(n):
            see = visible(CASE, rows[r], rows[r - t])
            s = np.einsum("bhqd,bhkd->bhqk", qs[r], ks[r - t][:, kv_of]) * scale
            s = np.where(see, s, np.float32(-np.inf))
            top = np.maximum(s.max(-1, keepdims=True), np.float32(-1e30))
            e = np.exp(s - top)
            every.append((top, e.sum(-1, keepdims=True), e @ vs[r - t][:, kv_of]))
        top = np.maximum.reduce([x[0] for x in every])
        z = sum(np.exp(x[0] - top) * x[1] for x in every)
        outs.append(sum(np.exp(x[0] - top) * x[2] for x in every) / z)
        lses.append(top + np.log(z))
    dq = [np.zeros_like(x) for x in qs]
    dk = [np.zeros_like(x) for x in ks]
    dv = [np.zeros_like(x) for x in vs]
    for t in range(n):
        for r in range(n):
            p = probabilities(qs[r], ks[r], lses[r], visible(CASE, rows[r], rows[r - t]))
            delta = np.einsum("bhqd,bhqd->bhq", outs[r], dos[r])
            ds = p * (np.einsum("bhqd,bhkd->bhqk", dos[r], vs[r][:, kv_of]) - delta[..., None]) * scale
            dq[r] += ds @ ks[r][:, kv_of]
            accumulate(dk[r], ds.swapaxes(2, 3) @ qs[r])
            accumulate(dv[r], p.swapaxes(2, 3) @ dos[r])
        ks, vs, dk, dv = (ring_shift(x) for x in (ks, vs, dk, dv))
    return dict(out=gather(outs, rows), lse=gather(lses, rows), dq=gather(dq, rows), dk=gather(dk, rows), dv=gather(dv, rows))
