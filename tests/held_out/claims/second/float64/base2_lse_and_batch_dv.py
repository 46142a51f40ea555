# Mistake: Two mistakes: the returned lse is the logarithm to base 2 instead of the natural one (the backward uses it rightly); and the dv accumulators are not cleared between batch items, so dv of item 1 is the sum of the dv of items 0 and 1 instead of its own.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=3, layout="striped", causal=True, window=12, cu_seqlens=None, seqlen=40, heads=4, kv_heads=2,
            head_dim=8, batch=2, dtype="float64", backward=True)


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    scale = CASE["head_dim"] ** -0.5
    scale2 = scale * np.log2(np.e)
    group = CASE["heads"] // CASE["kv_heads"]
    wide = lambda x: np.repeat(x, group, axis=1)
    narrow = lambda x: x.reshape(x.shape[0], -1, group, *x.shape[2:]).sum(2)
    results = []
    dv_workspace = [np.zeros((1, CASE["kv_heads"], len(p), CASE["head_dim"])) for p in rows]
    for b in range(CASE["batch"]):
        qs, ks, vs, dos = (scatter(x[b:b + 1], rows) for x in (q, k, v, dout))
        m = [np.full(x.shape[:3] + (1,), -np.inf) for x in qs]
        l = [np.zeros_like(x) for x in m]
        acc = [np.zeros_like(x) for x in qs]
        kb, vb = ks, vs
        for t in range(n):
            for r in range(n):
                see = visible(CASE, rows[r], rows[(r - t) % n])
                s = np.where(see, scale2 * qs[r] @ wide(kb[r]).swapaxes(2, 3), -np.inf)
                new = np.maximum(m[r], s.max(3, keepdims=True))
                p, keep = np.exp2(s - new), np.exp2(m[r] - new)
                m[r], l[r], acc[r] = new, l[r] * keep + p.sum(3, keepdims=True), acc[r] * keep + p @ wide(vb[r])
            kb, vb = ring_shift(kb), ring_shift(vb)
        outs = [x / y for x, y in zip(acc, l)]
        lses = [x + np.log2(y) for x, y in zip(m, l)]
        deltas = [(o * d).sum(3, keepdims=True) for o, d in zip(outs, dos)]
        dq, dk = ([np.zeros_like(x) for x in xs] for xs in (qs, ks))
        dv = dv_workspace
        for t in range(n):
            for r in range(n):
                see = visible(CASE, rows[r], rows[(r - t) % n])
                p = np.exp2(np.where(see, scale2 * qs[r] @ wide(kb[r]).swapaxes(2, 3), -np.inf) - lses[r])
                ds = scale * p * (dos[r] @ wide(vb[r]).swapaxes(2, 3) - deltas[r])
                dq[r] += ds @ wide(kb[r])
                dk[r] += narrow(ds.swapaxes(2, 3) @ qs[r])
                dv[r] += narrow(p.swapaxes(2, 3) @ dos[r])
            kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
        dv_workspace = dv
        results.append([gather(x, rows) for x in (outs, lses, dq, dk, dv)])
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (np.concatenate(x) for x in zip(*results))))
