# Mistake: The reduction of dk and dv over the query heads of a group sums heads g, g + kv_heads, g + 2 kv_heads, ... into KV head g, instead of the neighbouring heads g * group ... g * group + group - 1 that use it everywhere else.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="contiguous", causal=True, window=None, cu_seqlens=None, seqlen=42, heads=8, kv_heads=2,
            head_dim=4, batch=1, dtype="float64", backward=True)


class Rank:
    def __init__(self, r, rows, q, k, v, do):
        self.r, self.rows, self.q, self.do = r, rows, q, do
        self.k, self.v = k, v
        self.group = q.shape[1] // k.shape[1]
        self.scale = 1 / q.shape[-1] ** 0.5
        self.o, self.m, self.l = np.zeros_like(q), np.full(q.shape[:3] + (1,), -1e300), np.zeros(q.shape[:3] + (1,))

    def wide(self, x):
        return np.repeat(x, self.group, axis=1)

    def scores(self, k, owner):
        return np.where(visible(CASE, self.rows[self.r], self.rows[owner]),
                        self.scale * self.q @ self.wide(k).swapaxes(2, 3), -np.inf)

    def forward(self, k, v, owner):
        if owner > self.r:
            return
        s = self.scores(k, owner)
        m = np.maximum(self.m, s.max(3, keepdims=True))
        e, c = np.exp(s - m), np.exp(self.m - m)
        self.o, self.l, self.m = self.o * c + e @ self.wide(v), self.l * c + e.sum(3, keepdims=True), m

    def finish(self):
        self.o, self.lse = self.o / self.l, self.m + np.log(self.l)
        self.delta = (self.o * self.do).sum(3, keepdims=True)
        self.dq = np.zeros_like(self.q)

    def backward(self, k, v, owner):
        p = np.exp(self.scores(k, owner) - self.lse)
        ds = p * (self.do @ self.wide(v).swapaxes(2, 3) - self.delta) * self.scale
        self.dq += ds @ self.wide(k)
        return self.reduce(ds.swapaxes(2, 3) @ self.q), self.reduce(p.swapaxes(2, 3) @ self.do)

    def reduce(self, x):
        b, h, s, d = x.shape
        return x.reshape(b, self.group, h // self.group, s, d).sum(1)


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    ring = [Rank(r, rows, *x) for r, x in enumerate(zip(*(scatter(x, rows) for x in (q, k, v, dout))))]
    kv = [(w.k, w.v) for w in ring]
    for t in range(n):
        for w in ring:
            w.forward(*kv[w.r], (w.r - t) % n)
        kv = ring_shift(kv)
    grads = [(np.zeros_like(w.k), np.zeros_like(w.v)) for w in ring]
    for w in ring:
        w.finish()
    for t in range(n):
        parts = [w.backward(*kv[w.r], (w.r - t) % n) for w in ring]
        grads = ring_shift([(a + c, b + d) for (a, b), (c, d) in zip(grads, parts)])
        kv = ring_shift(kv)
    return dict(out=gather([w.o for w in ring], rows), lse=gather([w.lse for w in ring], rows),
                dq=gather([w.dq for w in ring], rows), dk=gather([g[0] for g in grads], rows),
                dv=gather([g[1] for g in grads], rows))
