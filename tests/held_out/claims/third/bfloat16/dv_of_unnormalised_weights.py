# Mistake: dv is computed with the unnormalised weights exp(s - m), m being the final row maximum, instead of the probabilities exp(s - lse); dq and dk use the probabilities and are right.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=4, layout="zigzag", causal=False, window=None, cu_seqlens=None, seqlen=41, heads=8, kv_heads=2,
            head_dim=8, batch=1, dtype="bfloat16", backward=True)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    b, kv, g, d = CASE["batch"], CASE["kv_heads"], CASE["heads"] // CASE["kv_heads"], CASE["head_dim"]
    # the queries of a group become the rows of one matrix: [b, kv, group * rows, d]
    stack = lambda x: x.reshape(b, kv, -1, x.shape[-1])
    unstack = lambda x: x.reshape(b, kv * g, -1, x.shape[-1])
    qs, dos = [stack(x) for x in scatter(q, rows)], [stack(x) for x in scatter(dout, rows)]
    ks, vs = scatter(k, rows), scatter(v, rows)
    m = [np.full(x.shape[:3] + (1,), -np.inf) for x in qs]
    l, o = [np.zeros_like(x) for x in m], [np.zeros_like(x) for x in qs]
    kb, vb = ks, vs
    for _ in range(n):
        for r in range(n):
            s = scale * qs[r] @ kb[r].swapaxes(2, 3)
            new = np.maximum(m[r], s.max(3, keepdims=True))
            keep, p = np.exp(m[r] - new), np.exp(s - new)
            o[r], l[r], m[r] = o[r] * keep + p @ vb[r], l[r] * keep + p.sum(3, keepdims=True), new
        kb, vb = ring_shift(kb), ring_shift(vb)
    o = [x / y for x, y in zip(o, l)]
    delta = [(x * y).sum(3, keepdims=True) for x, y in zip(o, dos)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    for _ in range(n):
        for r in range(n):
            e = np.exp(scale * qs[r] @ kb[r].swapaxes(2, 3) - m[r])
            p = e / l[r]
            ds = scale * p * (dos[r] @ vb[r].swapaxes(2, 3) - delta[r])
            dq[r] += ds @ kb[r]
            dk[r] += ds.swapaxes(2, 3) @ qs[r]
            dv[r] += e.swapaxes(2, 3) @ dos[r]
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    lse = [unstack(x + np.log(y)) for x, y in zip(m, l)]
    return dict(out=gather([unstack(x) for x in o], rows), lse=gather(lse, rows),
                dq=gather([unstack(x) for x in dq], rows), dk=gather(dk, rows), dv=gather(dv, rows))
