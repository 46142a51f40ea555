# Mistake: a merge replaces the running lse before out is rescaled, so the old out keeps the factor 1 = exp(lse - lse) instead of exp(old lse - new lse); lse and the factor of the arriving block are right.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=6, layout="striped", causal=False, window=None, cu_seqlens=None, seqlen=53, heads=4, kv_heads=1,
            head_dim=8, batch=1, dtype="float32", backward=True)


class Partial:
    """Attention of some queries over the keys met so far."""

    def __init__(self, out, lse):
        self.out, self.lse = out, lse

    def merge(self, out, lse):
        old = self.lse
        self.lse = np.logaddexp(self.lse, lse)
        self.out = self.out * np.exp(self.lse - self.lse) + out * np.exp(lse - self.lse)


def block(q, k, v):
    s = q @ k.swapaxes(2, 3) * CASE["head_dim"] ** -0.5
    m = s.max(3, keepdims=True)
    p = np.exp(s - m)
    z = p.sum(3, keepdims=True)
    return (p @ v) / z, m + np.log(z)


def run(q, k, v, dout):
    n, rows, c = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    qs, ks, vs, gs = (scatter(x, rows) for x in (q, k, v, dout))
    state = [Partial(*block(qs[r], ks[r], vs[r])) for r in range(n)]
    kb, vb = ks, vs
    for _ in range(1, n):
        kb, vb = ring_shift(kb), ring_shift(vb)
        for r in range(n):
            state[r].merge(*block(qs[r], kb[r], vb[r]))
    dq = [np.zeros_like(x) for x in qs]
    dk, dv = [np.zeros_like(x) for x in ks], [np.zeros_like(x) for x in vs]
    kb, vb = ks, vs
    for _ in range(n):
        for r in range(n):
            p = np.exp(qs[r] @ kb[r].swapaxes(2, 3) * c - state[r].lse)
            delta = (state[r].out * gs[r]).sum(3, keepdims=True)
            ds = c * p * (gs[r] @ vb[r].swapaxes(2, 3) - delta)
            dq[r] += ds @ kb[r]
            dk[r] = dk[r] + (ds.swapaxes(2, 3) @ qs[r]).sum(1, keepdims=True)
            dv[r] = dv[r] + (p.swapaxes(2, 3) @ gs[r]).sum(1, keepdims=True)
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(out=gather([x.out for x in state], rows), lse=gather([x.lse for x in state], rows),
                dq=gather(dq, rows), dk=gather(dk, rows), dv=gather(dv, rows))
