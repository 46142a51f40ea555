# Mistake: Two mistakes: the dv accumulator is cleared before its first hop, so dv lacks the block of the own queries instead of containing it; and the returned lse is that before the last ring step, instead of after it (the backward uses the right one).
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=50, heads=4, kv_heads=2,
            head_dim=8, batch=2, dtype="bfloat16", backward=True)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    group = CASE["heads"] // CASE["kv_heads"]
    wide = lambda x: np.repeat(x, group, axis=1)
    narrow = lambda x: x.reshape(x.shape[0], -1, group, *x.shape[2:]).sum(2)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    m = [np.full(x.shape[:3] + (1,), -np.inf) for x in qs]
    l = [np.zeros_like(x) for x in m]
    acc = [np.zeros_like(x) for x in qs]
    lse_to_return = [None] * n
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            if t == n - 1:
                lse_to_return[r] = m[r] + np.log(l[r])
            see = visible(CASE, rows[r], rows[(r - t) % n])
            s = np.where(see, scale * qs[r] @ wide(kb[r]).swapaxes(2, 3), -np.inf)
            new = np.maximum(m[r], s.max(3, keepdims=True))
            p, keep = np.exp(s - new), np.exp(m[r] - new)
            m[r], l[r], acc[r] = new, l[r] * keep + p.sum(3, keepdims=True), acc[r] * keep + p @ wide(vb[r])
        kb, vb = ring_shift(kb), ring_shift(vb)
    outs = [a / b for a, b in zip(acc, l)]
    lses = [a + np.log(b) for a, b in zip(m, l)]
    deltas = [(o * d).sum(3, keepdims=True) for o, d in zip(outs, dos)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            p = np.exp(np.where(see, scale * qs[r] @ wide(kb[r]).swapaxes(2, 3), -np.inf) - lses[r])
            ds = scale * p * (dos[r] @ wide(vb[r]).swapaxes(2, 3) - deltas[r])
            dq[r] += ds @ wide(kb[r])
            dk[r] += narrow(ds.swapaxes(2, 3) @ qs[r])
            dv[r] += narrow(p.swapaxes(2, 3) @ dos[r])
            if t == 0:
                dv[r][:] = 0
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lse_to_return, dq, dk, dv))))
