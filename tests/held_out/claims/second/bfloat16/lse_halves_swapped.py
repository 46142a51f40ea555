# Mistake: The backward reads the saved lse with the early and the late zigzag chunk of every rank exchanged, so the weights of an early row are recomputed with the lse of a late row and the other way round, instead of each with its own lse.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=5, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=60, heads=2, kv_heads=2,
            head_dim=16, batch=1, dtype="bfloat16", backward=True)


def save_for_backward(lse):
    early, late = np.split(lse, 2, axis=2)
    return dict(late=late, early=early)


def load(saved):
    return np.concatenate(list(saved.values()), axis=2)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    m = [np.full(x.shape[:3] + (1,), -np.inf) for x in qs]
    l = [np.zeros_like(x) for x in m]
    acc = [np.zeros_like(x) for x in qs]
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            s = np.where(see, scale * qs[r] @ kb[r].swapaxes(2, 3), -np.inf)
            new = np.maximum(m[r], s.max(3, keepdims=True))
            p, keep = np.exp(s - new), np.exp(m[r] - new)
            m[r], l[r], acc[r] = new, l[r] * keep + p.sum(3, keepdims=True), acc[r] * keep + p @ vb[r]
        kb, vb = ring_shift(kb), ring_shift(vb)
    outs = [a / b for a, b in zip(acc, l)]
    lses = [a + np.log(b) for a, b in zip(m, l)]
    saved = [save_for_backward(x) for x in lses]
    deltas = [(o * d).sum(3, keepdims=True) for o, d in zip(outs, dos)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            p = np.exp(np.where(see, scale * qs[r] @ kb[r].swapaxes(2, 3), -np.inf) - load(saved[r]))
            ds = scale * p * (dos[r] @ vb[r].swapaxes(2, 3) - deltas[r])
            dq[r] += ds @ kb[r]
            dk[r] += ds.swapaxes(2, 3) @ qs[r]
            dv[r] += p.swapaxes(2, 3) @ dos[r]
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
