# No mistake: a right ring, as a test of case.py.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=43, heads=4, kv_heads=2,
            head_dim=8, batch=2, dtype="float64", backward=True)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    group = CASE["heads"] // CASE["kv_heads"]
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    wide = lambda x: np.repeat(x, group, axis=1)
    m = [np.full(x.shape[:3] + (1,), -np.inf, x.dtype) for x in qs]
    l = [np.zeros_like(x) for x in m]
    acc = [np.zeros_like(x) for x in qs]
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            if see.any():
                s = np.where(see, scale * qs[r] @ wide(kb[r]).swapaxes(2, 3), -np.inf)
                new = np.maximum(m[r], s.max(3, keepdims=True))
                safe = np.where(np.isinf(new), 0, new).astype(q.dtype)
                p, keep = np.exp(s - safe), np.exp(m[r] - safe)
                m[r], l[r], acc[r] = new, l[r] * keep + p.sum(3, keepdims=True), acc[r] * keep + p @ wide(vb[r])
        kb, vb = ring_shift(kb), ring_shift(vb)
    outs = [a / np.where(x == 0, 1, x).astype(q.dtype) for a, x in zip(acc, l)]
    with np.errstate(divide="ignore"):
        lses = [x + np.log(y) for x, y in zip(m, l)]
    if not CASE["backward"]:
        return dict(out=gather(outs, rows), lse=gather(lses, rows))
    deltas = [(o * d).sum(3, keepdims=True) for o, d in zip(outs, dos)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    narrow = lambda x: x.reshape(x.shape[0], -1, group, *x.shape[2:]).sum(2)
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            s = np.where(see, scale * qs[r] @ wide(kb[r]).swapaxes(2, 3), -np.inf)
            p = np.exp(s - np.where(np.isinf(lses[r]), 0, lses[r]).astype(q.dtype))
            ds = scale * p * (dos[r] @ wide(vb[r]).swapaxes(2, 3) - deltas[r])
            dq[r] += ds @ wide(kb[r])
            dk[r] += narrow(ds.swapaxes(2, 3) @ qs[r])
            dv[r] += narrow(p.swapaxes(2, 3) @ dos[r])
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
