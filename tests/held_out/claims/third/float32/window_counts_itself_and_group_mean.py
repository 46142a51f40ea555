# Mistake: (1) The window counts the query itself as one of its W keys (k > q - W) in the forward and the backward pass, so its leftmost key is missing. (2) dk is the mean over the query heads of a group instead of their sum; dv is summed.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=6, layout="contiguous", causal=True, window=11, cu_seqlens=None, seqlen=57, heads=8, kv_heads=4,
            head_dim=8, batch=1, dtype="float32", backward=True)
N, G = CASE["ranks"], CASE["heads"] // CASE["kv_heads"]
SCALE = CASE["head_dim"] ** -0.5
MINUS_INF = np.float32(-np.inf)


def sees(qpos, kpos):
    q, k = np.ix_(qpos, kpos)
    return (k <= q) & (k > q - CASE["window"])


def by_group(x):
    return x.reshape(x.shape[0], CASE["kv_heads"], G, *x.shape[2:])


def run(q, k, v, dout):
    rows = dealt(CASE)
    qs, dos = [by_group(x) for x in scatter(q, rows)], [by_group(x) for x in scatter(dout, rows)]
    ks, vs = [x[:, :, None] for x in scatter(k, rows)], [x[:, :, None] for x in scatter(v, rows)]
    out = [np.zeros_like(x) for x in qs]
    lse = [np.full(x.shape[:-1] + (1,), MINUS_INF) for x in qs]
    kb, vb = ks, vs
    for t in range(N):
        for r in range(N):
            s = np.where(sees(rows[r], rows[(r - t) % N]), SCALE * qs[r] @ kb[r].swapaxes(-1, -2), MINUS_INF)
            new = np.logaddexp(lse[r], np.logaddexp.reduce(s, axis=-1, keepdims=True))
            base = np.where(np.isinf(new), np.float32(0), new)
            out[r] = out[r] * np.exp(lse[r] - base) + np.exp(s - base) @ vb[r]
            lse[r] = new
        kb, vb = ring_shift(kb), ring_shift(vb)
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    kb, vb = ks, vs
    for t in range(N):
        for r in range(N):
            see = sees(rows[r], rows[(r - t) % N])
            p = np.exp(np.where(see, SCALE * qs[r] @ kb[r].swapaxes(-1, -2), MINUS_INF) - lse[r])
            dp = dos[r] @ vb[r].swapaxes(-1, -2)
            ds = SCALE * p * (dp - (dos[r] * out[r]).sum(-1, keepdims=True))
            dq[r] += ds @ kb[r]
            dk[r] += (ds.swapaxes(-1, -2) @ qs[r]).mean(2, keepdims=True)
            dv[r] += (p.swapaxes(-1, -2) @ dos[r]).sum(2, keepdims=True)
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    flat = lambda xs: gather([x.reshape(x.shape[0], -1, *x.shape[3:]) for x in xs], rows)
    return dict(out=flat(out), lse=flat(lse), dq=flat(dq), dk=flat(dk), dv=flat(dv))
