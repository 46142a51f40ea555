# Mistake: In a block that is not hidden as a whole, a row without any visible key returns a block lse of 0 instead of minus infinity, so the merge counts it as one more key of score 0 and value 0; the backward uses the out and lse so obtained.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="contiguous", causal=True, window=6, cu_seqlens=None, seqlen=42, heads=2, kv_heads=1,
            head_dim=8, batch=2, dtype="float32", backward=True)


def kernel(q, k, v, see, scale):
    s = np.where(see, scale * q @ k.swapaxes(2, 3), np.float32(-np.inf))
    top = s.max(3, keepdims=True)
    top = np.where(np.isinf(top), np.float32(0), top)
    p = np.exp(s - top)
    l = p.sum(3, keepdims=True)
    l = np.where(l == 0, np.float32(1), l)
    return p @ v / l, top + np.log(l)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    outs, lses = [None] * n, [None] * n
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            if not see.any():
                continue
            o, e = kernel(qs[r], kb[r], vb[r], see, scale)
            if t == 0:
                outs[r], lses[r] = o, e
            else:
                new = np.logaddexp(lses[r], e)
                outs[r], lses[r] = outs[r] * np.exp(lses[r] - new) + o * np.exp(e - new), new
        kb, vb = ring_shift(kb), ring_shift(vb)
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            if see.any():
                s = np.where(see, scale * qs[r] @ kb[r].swapaxes(2, 3), np.float32(-np.inf))
                p = np.exp(s - lses[r])
                ds = scale * p * (dos[r] @ vb[r].swapaxes(2, 3) - (outs[r] * dos[r]).sum(3, keepdims=True))
                dq[r] += ds @ kb[r]
                dk[r] += (ds.swapaxes(2, 3) @ qs[r]).sum(1, keepdims=True)
                dv[r] += (p.swapaxes(2, 3) @ dos[r]).sum(1, keepdims=True)
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
