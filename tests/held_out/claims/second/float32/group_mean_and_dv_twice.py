# Mistake: Two mistakes: dk of a key head is the mean over the query heads of its group instead of their sum; and the own block's part of dv (ring step 0) is added twice, as the start of the accumulator and again in the loop, instead of once.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=5, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=47, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float32", backward=True)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    group = CASE["heads"] // CASE["kv_heads"]
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    wide = lambda x: np.repeat(x, group, axis=1)
    by_group = lambda x: x.reshape(x.shape[0], -1, group, *x.shape[2:])

    def score(r, src, kk):
        return np.where(visible(CASE, rows[r], rows[src]), scale * qs[r] @ wide(kk).swapaxes(2, 3), np.float32(-np.inf))

    m = [np.full(x.shape[:3] + (1,), -np.inf, x.dtype) for x in qs]
    l = [np.zeros_like(x) for x in m]
    acc = [np.zeros_like(x) for x in qs]
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            s = score(r, (r - t) % n, kb[r])
            new = np.maximum(m[r], s.max(3, keepdims=True))
            p, keep = np.exp(s - new), np.exp(m[r] - new)
            m[r], l[r], acc[r] = new, l[r] * keep + p.sum(3, keepdims=True), acc[r] * keep + p @ wide(vb[r])
        kb, vb = ring_shift(kb), ring_shift(vb)
    outs = [a / b for a, b in zip(acc, l)]
    lses = [a + np.log(b) for a, b in zip(m, l)]
    deltas = [(o * d).sum(3, keepdims=True) for o, d in zip(outs, dos)]
    dq, dk = ([np.zeros_like(x) for x in xs] for xs in (qs, ks))
    dv = [by_group(np.exp(score(r, r, ks[r]) - lses[r]).swapaxes(2, 3) @ dos[r]).sum(2) for r in range(n)]
    for t in range(n):
        for r in range(n):
            p = np.exp(score(r, (r - t) % n, kb[r]) - lses[r])
            ds = scale * p * (dos[r] @ wide(vb[r]).swapaxes(2, 3) - deltas[r])
            dq[r] += ds @ wide(kb[r])
            dk[r] += by_group(ds.swapaxes(2, 3) @ qs[r]).mean(2)
            dv[r] += by_group(p.swapaxes(2, 3) @ dos[r]).sum(2)
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
