# Mistake: the first position of rank j's block is taken for j times the number of the masking rank's own rows, instead of the sum of the rows of the ranks before j; the shards differ by a row (forward and backward).
import numpy as np

from case import dealt, gather, scatter

CASE = dict(ranks=5, layout="contiguous", causal=True, window=9, cu_seqlens=None, seqlen=43, heads=4, kv_heads=2,
            head_dim=4, batch=1, dtype="float64", backward=True)


class Rank:
    def __init__(self, index, shards):
        self.index = index
        self.q, self.k, self.v, self.dout = shards
        self.rows = self.q.shape[2]

    def first(self, other):
        return other.index * self.rows

    def mask(self, other):
        mine = self.first(self) + np.arange(self.rows)[:, None]
        theirs = self.first(other) + np.arange(other.rows)[None, :]
        distance = mine - theirs
        return (distance >= 0) & (distance <= CASE["window"])


RING = []


def run(q, k, v, dout):
    tokens = dealt(CASE)
    n, group, scale = CASE["ranks"], CASE["heads"] // CASE["kv_heads"], CASE["head_dim"] ** -0.5
    RING[:] = [Rank(i, shards) for i, shards in enumerate(zip(*(scatter(x, tokens) for x in (q, k, v, dout))))]
    for me in RING:
        me.out, me.lse, me.dq = np.zeros_like(me.q), np.zeros(me.q.shape[:3] + (1,)), np.zeros_like(me.q)
        me.dk, me.dv = np.zeros_like(me.k), np.zeros_like(me.v)
        for b in range(CASE["batch"]):
            for h in range(CASE["heads"]):
                m, l, acc = np.full(me.rows, -np.inf), np.zeros(me.rows), np.zeros((me.rows, CASE["head_dim"]))
                for t in range(n):
                    other = RING[(me.index - t) % n]
                    see = me.mask(other)
                    if not see.any():
                        continue
                    s = np.where(see, me.q[b, h] @ other.k[b, h // group].T * scale, -np.inf)
                    new = np.maximum(m, s.max(1))
                    keep, e = np.exp(m - new), np.exp(s - new[:, None])
                    l, m = l * keep + e.sum(1), new
                    acc = acc * keep[:, None] + e @ other.v[b, h // group]
                me.out[b, h], me.lse[b, h, :, 0] = acc / l[:, None], m + np.log(l)
    for t in range(n):
        for me in RING:
            other = RING[(me.index - t) % n]
            see = me.mask(other)
            if not see.any():
                continue
            for b in range(CASE["batch"]):
                for h in range(CASE["heads"]):
                    c = h // group
                    p = see * np.exp(np.where(see, me.q[b, h] @ other.k[b, c].T * scale, -np.inf) - me.lse[b, h])
                    delta = np.einsum("id,id->i", me.out[b, h], me.dout[b, h])
                    ds = scale * p * (me.dout[b, h] @ other.v[b, c].T - delta[:, None])
                    me.dq[b, h] += ds @ other.k[b, c]
                    other.dk[b, c] += ds.T @ me.q[b, h]
                    other.dv[b, c] += p.T @ me.dout[b, h]
    return {x: gather([getattr(me, x) for me in RING], tokens) for x in ("out", "lse", "dq", "dk", "dv")}
