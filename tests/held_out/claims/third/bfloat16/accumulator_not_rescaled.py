# Mistake: When a new block raises the running maximum, the running sum l is rescaled by exp(m_old - m_new) but the output accumulator is not, so out is too much of the earlier blocks; lse is right.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=3, layout="zigzag", causal=True, window=18, cu_seqlens=None, seqlen=47, heads=6, kv_heads=2,
            head_dim=8, batch=1, dtype="bfloat16", backward=False)


class OnlineSoftmax:
    def __init__(self, shape):
        self.o = np.zeros(shape)
        self.m = np.full(shape[:-1], -1e30)
        self.l = np.zeros(shape[:-1])

    def add(self, s, v):
        m_new = np.maximum(self.m, s.max(-1))
        correction = np.exp(self.m - m_new)
        p = np.exp(s - m_new[..., None])
        self.l *= correction
        self.l += p.sum(-1)
        self.o += p @ v
        self.m = m_new

    def result(self):
        return self.o / self.l[..., None], self.m + np.log(self.l)


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    group = CASE["heads"] // CASE["kv_heads"]
    qs, ks, vs = (scatter(x, rows) for x in (q, k, v))
    states = [OnlineSoftmax(x.shape) for x in qs]
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            s = np.einsum("bhqd,bhkd->bhqk", qs[r], np.repeat(ks[r], group, 1)) / CASE["head_dim"] ** 0.5
            states[r].add(np.where(see, s, -np.inf), np.repeat(vs[r], group, 1))
        ks, vs = ring_shift(ks), ring_shift(vs)
    outs, lses = zip(*(x.result() for x in states))
    return dict(out=gather(outs, rows), lse=gather(lses, rows))
