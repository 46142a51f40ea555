# Mistake: The travelling dk accumulators make one hop too few and stay on the rank before their owner (rank r returns the dk of rank r + 1), instead of going home like the dv accumulators, which make all hops.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=5, layout="contiguous", causal=False, window=None, cu_seqlens=None, seqlen=40, heads=6, kv_heads=3,
            head_dim=8, batch=1, dtype="float64", backward=True)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    group = CASE["heads"] // CASE["kv_heads"]
    Q, K, V, DO = (scatter(x, rows) for x in (q, k, v, dout))

    def expand(x):
        return np.repeat(x, group, axis=1)

    def reduce(x):
        return x.reshape(x.shape[0], CASE["kv_heads"], group, x.shape[2], x.shape[3]).sum(2)

    out, lse = [None] * n, [None] * n
    kbuf, vbuf = K, V
    for step in range(n):
        for r in range(n):
            s = scale * Q[r] @ expand(kbuf[r]).swapaxes(2, 3)
            top = s.max(3, keepdims=True)
            p = np.exp(s - top)
            l = p.sum(3, keepdims=True)
            bo, bl = p @ expand(vbuf[r]) / l, top + np.log(l)
            if step == 0:
                out[r], lse[r] = bo, bl
            else:
                w = 1 / (1 + np.exp(lse[r] - bl))
                out[r] = out[r] + w * (bo - out[r])
                lse[r] = np.logaddexp(lse[r], bl)
        if step < n - 1:
            kbuf, vbuf = ring_shift(kbuf), ring_shift(vbuf)

    delta = [(o * d).sum(3, keepdims=True) for o, d in zip(out, DO)]
    dq, dk, dv = [np.zeros_like(x) for x in Q], [np.zeros_like(x) for x in K], [np.zeros_like(x) for x in V]
    kbuf, vbuf = K, V
    for step in range(n):
        for r in range(n):
            p = np.exp(scale * Q[r] @ expand(kbuf[r]).swapaxes(2, 3) - lse[r])
            ds = scale * p * (DO[r] @ expand(vbuf[r]).swapaxes(2, 3) - delta[r])
            dq[r] += ds @ expand(kbuf[r])
            dk[r] += reduce(ds.swapaxes(2, 3) @ Q[r])
            dv[r] += reduce(p.swapaxes(2, 3) @ DO[r])
        if step < n - 1:
            kbuf, vbuf, dk = ring_shift(kbuf), ring_shift(vbuf), ring_shift(dk)
        dv = ring_shift(dv)
    return dict(out=gather(out, rows), lse=gather(lse, rows), dq=gather(dq, rows), dk=gather(dk, rows),
                dv=gather(dv, rows))
