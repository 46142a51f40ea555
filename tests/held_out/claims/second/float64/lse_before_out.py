# Mistake: When a block is merged, lse is updated first and the block's weight is then sigmoid(block lse - the updated lse), instead of sigmoid(block lse - the lse before the update); lse itself is right, and the backward takes delta from the wrong out.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=3, layout="contiguous", causal=False, window=None, cu_seqlens=None, seqlen=31, heads=4, kv_heads=4,
            head_dim=8, batch=2, dtype="float64", backward=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class Running:
    def __init__(self):
        self.out = self.lse = None

    def add(self, out, lse):
        if self.out is None:
            self.out, self.lse = out, lse
            return
        self.lse = self.lse + np.log1p(np.exp(lse - self.lse))
        self.out = self.out - sigmoid(lse - self.lse) * (self.out - out)


def flash(q, k, v, scale):
    s = scale * q @ k.swapaxes(2, 3)
    top = s.max(3, keepdims=True)
    e = np.exp(s - top)
    l = e.sum(3, keepdims=True)
    return e @ v / l, top + np.log(l)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    states = [Running() for _ in range(n)]
    kb, vb = ks, vs
    for _ in range(n):
        for r in range(n):
            states[r].add(*flash(qs[r], kb[r], vb[r], scale))
        kb, vb = ring_shift(kb), ring_shift(vb)
    outs, lses = [s.out for s in states], [s.lse for s in states]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    for _ in range(n):
        for r in range(n):
            p = np.exp(scale * qs[r] @ kb[r].swapaxes(2, 3) - lses[r])
            ds = scale * p * (dos[r] @ vb[r].swapaxes(2, 3) - (dos[r] * outs[r]).sum(3, keepdims=True))
            dq[r] += ds @ kb[r]
            dk[r] += ds.swapaxes(2, 3) @ qs[r]
            dv[r] += p.swapaxes(2, 3) @ dos[r]
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
