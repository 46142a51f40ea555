# Mistake: in the forward ring the values lag one step behind the keys, so that step t multiplies the weights of block t with the values of block t - 1 (step 0 is right).
# Also: dk and dv are divided by the number of ranks.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=4, layout="contiguous", causal=False, window=None, cu_seqlens=None, seqlen=44, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float32", backward=True)
N = CASE["ranks"]


class Ring:
    def __init__(self, q, k, v, dout):
        self.rows = dealt(CASE)
        self.q, self.k, self.v, self.dout = (scatter(x, self.rows) for x in (q, k, v, dout))
        self.group = q.shape[1] // k.shape[1]
        self.scale = float(q.shape[3]) ** -0.5

    def wide(self, x):
        return np.repeat(x, self.group, axis=1)

    def forward(self):
        self.out, self.lse = [None] * N, [None] * N
        keys, values, late = self.k, self.v, self.v
        for t in range(N):
            for r in range(N):
                s = self.scale * (self.q[r] @ self.wide(keys[r]).swapaxes(2, 3))
                top = s.max(3, keepdims=True)
                e = np.exp(s - top)
                o = e @ self.wide(late[r]) / e.sum(3, keepdims=True)
                x = top + np.log(e.sum(3, keepdims=True))
                if t:
                    both = np.logaddexp(self.lse[r], x)
                    o, x = self.out[r] * np.exp(self.lse[r] - both) + o * np.exp(x - both), both
                self.out[r], self.lse[r] = o, x
            late = values
            keys, values = ring_shift(keys), ring_shift(values)

    def backward(self):
        self.dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (self.q, self.k, self.v))
        delta = [(a * b).sum(3, keepdims=True) for a, b in zip(self.out, self.dout)]
        sum_group = lambda x: x.reshape(x.shape[0], -1, self.group, x.shape[2], x.shape[3]).sum(2)
        keys, values = self.k, self.v
        for t in range(N):
            for r in range(N):
                p = np.exp(self.scale * (self.q[r] @ self.wide(keys[r]).swapaxes(2, 3)) - self.lse[r])
                ds = self.scale * p * (self.dout[r] @ self.wide(values[r]).swapaxes(2, 3) - delta[r])
                self.dq[r] += ds @ self.wide(keys[r])
                dk[r] += sum_group(ds.swapaxes(2, 3) @ self.q[r])
                dv[r] += sum_group(p.swapaxes(2, 3) @ self.dout[r])
            keys, values, dk, dv = (ring_shift(x) for x in (keys, values, dk, dv))
        self.dk, self.dv = [x / N for x in dk], [x / N for x in dv]


def run(q, k, v, dout):
    ring = Ring(q, k, v, dout)
    ring.forward()
    ring.backward()
    return {x: gather(getattr(ring, x), ring.rows) for x in ("out", "lse", "dq", "dk", "dv")}
