# Mistake: the queries saved for the backward pass are already multiplied by the softmax scale, and the backward pass takes them for the unscaled ones: its scores have scale^2 instead of scale, and dk one factor of the scale too many.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=3, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=41, heads=6, kv_heads=3,
            head_dim=5, batch=1, dtype="float64", backward=True)


class Ring:
    def __init__(self, q, k, v):
        self.n = CASE["ranks"]
        self.rows = dealt(CASE)
        self.scale = CASE["head_dim"] ** -0.5
        self.group = CASE["heads"] // CASE["kv_heads"]
        self.q, self.k, self.v = (scatter(x, self.rows) for x in (q, k, v))

    def mask(self, r, t):
        return visible(CASE, self.rows[r], self.rows[(r - t) % self.n])

    def up(self, x):
        return np.repeat(x, self.group, axis=1)

    def down(self, x):
        return np.add.reduceat(x, np.arange(0, CASE["heads"], self.group), axis=1)

    def forward(self):
        for x in self.q:
            x *= self.scale
        self.out, self.lse = [np.zeros_like(x) for x in self.q], [np.full(x.shape[:3], -np.inf) for x in self.q]
        k, v = self.k, self.v
        for t in range(self.n):
            for r in range(self.n):
                s = np.where(self.mask(r, t), self.q[r] @ self.up(k[r]).swapaxes(-1, -2), -np.inf)
                with np.errstate(divide="ignore"):
                    m = s.max(-1)
                    b = m + np.log(np.exp(s - np.where(np.isinf(m), 0, m)[..., None]).sum(-1))
                    b[np.isinf(m)] = -np.inf
                new = np.logaddexp(self.lse[r], b)
                safe = np.where(np.isinf(new), 0, new)
                self.out[r] = self.out[r] * np.exp(self.lse[r] - safe)[..., None] + np.exp(s - safe[..., None]) @ self.up(v[r])
                self.lse[r] = new
            k, v = ring_shift(k), ring_shift(v)

    def backward(self, dout):
        dout = scatter(dout, self.rows)
        dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (self.q, self.k, self.v))
        k, v = self.k, self.v
        for t in range(self.n):
            for r in range(self.n):
                s = np.where(self.mask(r, t), self.scale * self.q[r] @ self.up(k[r]).swapaxes(-1, -2), -np.inf)
                p = np.exp(s - self.lse[r][..., None])
                dp = dout[r] @ self.up(v[r]).swapaxes(-1, -2)
                ds = p * (dp - (dout[r] * self.out[r]).sum(-1)[..., None])
                dq[r] += self.scale * ds @ self.up(k[r])
                dk[r] += self.scale * self.down(ds.swapaxes(-1, -2) @ self.q[r])
                dv[r] += self.down(p.swapaxes(-1, -2) @ dout[r])
            k, v, dk, dv = ring_shift(k), ring_shift(v), ring_shift(dk), ring_shift(dv)
        return dq, dk, dv


def run(q, k, v, dout):
    ring = Ring(q, k, v)
    ring.forward()
    dq, dk, dv = ring.backward(dout)
    whole = lambda x: gather(x, ring.rows)
    return dict(out=whole(ring.out), lse=whole([x[..., None] for x in ring.lse]), dq=whole(dq), dk=whole(dk), dv=whole(dv))
