# Mistake: the number of hops under the window is window / rows rounded down instead of up, so the farthest block that some queries see is left out (forward and backward).
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=6, layout="contiguous", causal=True, window=11, cu_seqlens=None, seqlen=49, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float32", backward=True)


def hops():
    rows = CASE["seqlen"] // CASE["ranks"]
    return min(CASE["ranks"] - 1, CASE["window"] // rows)


def run(q, k, v, dout):
    n, rows, c = CASE["ranks"], dealt(CASE), hops()
    scale, group = np.float32(CASE["head_dim"] ** -0.5), CASE["heads"] // CASE["kv_heads"]
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    up = lambda x: np.repeat(x, group, axis=1)
    down = lambda x: np.add.reduceat(x, np.arange(0, x.shape[1], group), axis=1)
    t4 = lambda x: x.transpose(0, 1, 3, 2)

    m = [np.full(x.shape[:3] + (1,), np.float32(-1e30)) for x in qs]
    l, acc = [np.zeros_like(x) for x in m], [np.zeros_like(x) for x in qs]
    kb, vb = ks, vs
    for t in range(c + 1):
        for r in range(t, n):
            see = visible(CASE, rows[r], rows[r - t])
            s = np.where(see, scale * (qs[r] @ t4(up(kb[r]))), np.float32(-np.inf))
            new = np.maximum(m[r], s.max(3, keepdims=True))
            e, f = np.exp(s - new), np.exp(m[r] - new)
            m[r], l[r], acc[r] = new, f * l[r] + e.sum(3, keepdims=True), f * acc[r] + e @ up(vb[r])
        if t < c:
            kb, vb = ring_shift(kb), ring_shift(vb)
    outs, lses = [a / x for a, x in zip(acc, l)], [x + np.log(y) for x, y in zip(m, l)]

    delta = [(a * b).sum(3, keepdims=True) for a, b in zip(outs, dos)]
    dq = [np.zeros_like(x) for x in qs]
    dk, dv = ([np.zeros_like(x) for x in held] for held in (kb, vb))
    for t in range(c, -1, -1):
        for r in range(t, n):
            see = visible(CASE, rows[r], rows[r - t])
            p = np.where(see, np.exp(scale * (qs[r] @ t4(up(kb[r]))) - lses[r]), np.float32(0))
            ds = scale * p * (dos[r] @ t4(up(vb[r])) - delta[r])
            dq[r] += ds @ up(kb[r])
            dk[r] += down(t4(ds) @ qs[r])
            dv[r] += down(t4(p) @ dos[r])
        if t:
            kb, vb, dk, dv = (ring_shift(x, -1) for x in (kb, vb, dk, dv))
    return {name: gather(x, rows) for name, x in zip(("out", "lse", "dq", "dk", "dv"), (outs, lses, dq, dk, dv))}
