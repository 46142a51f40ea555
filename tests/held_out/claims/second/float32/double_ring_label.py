# Mistake: In the forward's double ring of two pairs, the outer hop sends the K and V that the inner ring has already turned by one, instead of the ones the inner ring started from, so in the second outer step the keys of one rank of the other pair are masked with the positions of the other rank of that pair; the backward is a plain ring with the wrong out and lse.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="contiguous", causal=True, window=15, cu_seqlens=None, seqlen=48, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float32", backward=True)
INNER = OUTER = 2


def inner_hop(things):
    return [things[r // INNER * INNER + (r - 1) % INNER] for r in range(len(things))]


def outer_hop(things):
    return ring_shift(things, INNER)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    group = CASE["heads"] // CASE["kv_heads"]
    wide = lambda x: np.repeat(x, group, axis=1)
    narrow = lambda x: x.reshape(x.shape[0], -1, group, *x.shape[2:]).sum(2)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    m = [np.full(x.shape[:3] + (1,), -np.inf, x.dtype) for x in qs]
    l = [np.zeros_like(x) for x in m]
    acc = [np.zeros_like(x) for x in qs]
    kb, vb = ks, vs
    for o in range(OUTER):
        for i in range(INNER):
            for r in range(n):
                src = (r // INNER - o) % OUTER * INNER + (r - i) % INNER
                s = np.where(visible(CASE, rows[r], rows[src]), scale * qs[r] @ wide(kb[r]).swapaxes(2, 3),
                             np.float32(-np.inf))
                new = np.maximum(m[r], s.max(3, keepdims=True))
                p, keep = np.exp(s - new), np.exp(m[r] - new)
                m[r], l[r], acc[r] = new, l[r] * keep + p.sum(3, keepdims=True), acc[r] * keep + p @ wide(vb[r])
            if i < INNER - 1:
                kb, vb = inner_hop(kb), inner_hop(vb)
        kb, vb = outer_hop(kb), outer_hop(vb)
    outs = [a / b for a, b in zip(acc, l)]
    lses = [a + np.log(b) for a, b in zip(m, l)]
    deltas = [(o * d).sum(3, keepdims=True) for o, d in zip(outs, dos)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            p = np.exp(np.where(see, scale * qs[r] @ wide(kb[r]).swapaxes(2, 3), np.float32(-np.inf)) - lses[r])
            ds = scale * p * (dos[r] @ wide(vb[r]).swapaxes(2, 3) - deltas[r])
            dq[r] += ds @ wide(kb[r])
            dk[r] += narrow(ds.swapaxes(2, 3) @ qs[r])
            dv[r] += narrow(p.swapaxes(2, 3) @ dos[r])
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
