# Mistake: The backward starts from the K and V buffers as the forward left them after ranks - 1 hops, so at step t rank r works with the K and V of rank r - t + 1 while mask, dk and dv are those of rank r - t, instead of with the K and V of rank r - t.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=44, heads=2, kv_heads=2,
            head_dim=16, batch=1, dtype="float32", backward=True)


class Comm:
    def __init__(self, **buffers):
        self.buffers = buffers

    def __getitem__(self, key):
        return self.buffers[key]

    def rotate(self, *keys):
        for key in keys:
            self.buffers[key] = ring_shift(self.buffers[key])


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    qs, dos = scatter(q, rows), scatter(dout, rows)
    ring = Comm(k=scatter(k, rows), v=scatter(v, rows))
    m = [np.full(x.shape[:3] + (1,), -np.inf, x.dtype) for x in qs]
    l = [np.zeros_like(x) for x in m]
    acc = [np.zeros_like(x) for x in qs]
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            s = np.where(see, scale * qs[r] @ ring["k"][r].swapaxes(2, 3), np.float32(-np.inf))
            new = np.maximum(m[r], s.max(3, keepdims=True))
            p, keep = np.exp(s - new), np.exp(m[r] - new)
            m[r], l[r], acc[r] = new, l[r] * keep + p.sum(3, keepdims=True), acc[r] * keep + p @ ring["v"][r]
        if t + 1 < n:
            ring.rotate("k", "v")
    outs = [a / b for a, b in zip(acc, l)]
    lses = [a + np.log(b) for a, b in zip(m, l)]
    deltas = [(o * d).sum(3, keepdims=True) for o, d in zip(outs, dos)]
    dq = [np.zeros_like(x) for x in qs]
    ring.buffers.update(dk=[np.zeros_like(x) for x in qs], dv=[np.zeros_like(x) for x in qs])
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            s = np.where(see, scale * qs[r] @ ring["k"][r].swapaxes(2, 3), np.float32(-np.inf))
            p = np.exp(s - lses[r])
            ds = scale * p * (dos[r] @ ring["v"][r].swapaxes(2, 3) - deltas[r])
            dq[r] += ds @ ring["k"][r]
            ring["dk"][r] += ds.swapaxes(2, 3) @ qs[r]
            ring["dv"][r] += p.swapaxes(2, 3) @ dos[r]
        ring.rotate("k", "v", "dk", "dv")
    return dict(zip(("out", "lse", "dq", "dk", "dv"),
                    (gather(x, rows) for x in (outs, lses, dq, ring["dk"], ring["dv"]))))
