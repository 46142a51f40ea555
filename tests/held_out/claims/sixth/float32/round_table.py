# Mistake: in the backward the keys and values go on to rank + 1, their gradients to rank - 1: a block and the gradient
# that is added for it part after the first step.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=5, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=70, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float32", backward=True)
NEXT, PREV = 1, -1
f32 = np.float32


def block(q, k, see):
    g = q.shape[1] // k.shape[1]
    return np.where(see, q @ np.repeat(k, g, 1).swapaxes(2, 3) * f32(q.shape[3] ** -0.5), f32(-np.inf))


class Ring:
    def __init__(self, parts):
        self.parts = parts

    def send(self, to):
        self.parts = ring_shift(self.parts, to)


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    qs, dos = scatter(q, rows), scatter(dout, rows)
    K, V = Ring(scatter(k, rows)), Ring(scatter(v, rows))
    g = CASE["heads"] // CASE["kv_heads"]
    o, m, z = ([f(x) for x in qs] for f in (np.zeros_like, lambda x: np.full(x.shape[:3] + (1,), -np.inf, f32),
                                           lambda x: np.zeros(x.shape[:3] + (1,), f32)))
    for t in range(n):
        for r in range(n):
            s = block(qs[r], K.parts[r], visible(CASE, rows[r], rows[(r - t) % n]))
            top = np.maximum(m[r], s.max(3, keepdims=True))
            e, c = np.exp(s - top), np.exp(m[r] - top)
            o[r] = o[r] * c + e @ np.repeat(V.parts[r], g, 1)
            z[r], m[r] = z[r] * c + e.sum(3, keepdims=True), top
        K.send(NEXT), V.send(NEXT)
    out = [a / b for a, b in zip(o, z)]
    lse = [a + np.log(b) for a, b in zip(m, z)]
    DK, DV = Ring([np.zeros_like(x) for x in K.parts]), Ring([np.zeros_like(x) for x in V.parts])
    dq = [np.zeros_like(x) for x in qs]
    for t in range(n):
        for r in range(n):
            p = np.exp(block(qs[r], K.parts[r], visible(CASE, rows[r], rows[(r - t) % n])) - lse[r])
            dp = dos[r] @ np.repeat(V.parts[r], g, 1).swapaxes(2, 3)
            ds = p * (dp - (dos[r] * out[r]).sum(3, keepdims=True)) * f32(CASE["head_dim"] ** -0.5)
            dq[r] += ds @ np.repeat(K.parts[r], g, 1)
            for ring, x in ((DK, ds.swapaxes(2, 3) @ qs[r]), (DV, p.swapaxes(2, 3) @ dos[r])):
                b, h, w, d = x.shape
                ring.parts[r] += x.reshape(b, h // g, g, w, d).sum(2)
        K.send(NEXT), V.send(NEXT)
        DK.send(PREV), DV.send(PREV)
    return dict(out=gather(out, rows), lse=gather(lse, rows), dq=gather(dq, rows), dk=gather(DK.parts, rows),
                dv=gather(DV.parts, rows))
