# Mistake: where the running maximum grows by less than 0.75, l and acc are not rescaled, yet exp is taken of score minus the new maximum instead of minus the old one.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=50, heads=4, kv_heads=2,
            head_dim=8, batch=2, dtype="float32", backward=True)
THRESHOLD = 0.75
f32 = np.float32


class OnlineSoftmax:
    def __init__(self, q):
        self.m = np.full(q.shape[:3], -np.inf, f32)
        self.l = np.zeros(q.shape[:3], f32)
        self.acc = np.zeros_like(q)

    def tile(self, s, v):
        new = np.maximum(self.m, s.max(3))
        with np.errstate(invalid="ignore"):
            rescale = (new - self.m) >= THRESHOLD
        base = np.where(np.isinf(new), f32(0), new)
        keep = np.where(rescale, np.exp(self.m - base), f32(1))
        self.m = new
        p = np.exp(s - np.where(np.isinf(self.m), f32(0), self.m)[..., None])
        self.l = self.l * keep + p.sum(3)
        self.acc = self.acc * keep[..., None] + p @ v

    def finish(self):
        return self.acc / self.l[..., None], (self.m + np.log(self.l))[..., None]


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    group, scale = CASE["heads"] // CASE["kv_heads"], CASE["head_dim"] ** -0.5
    q, k, v, dout = (scatter(x, rows) for x in (q, k, v, dout))
    many = lambda x: x.repeat(group, axis=1)
    few = lambda x: x.reshape(x.shape[0], x.shape[1] // group, group, *x.shape[2:]).sum(axis=2)
    scores = lambda r, kk, t: np.where(visible(CASE, rows[r], rows[(r - t) % n]),
                                       scale * q[r] @ many(kk).swapaxes(2, 3), f32(-np.inf))
    softmax = [OnlineSoftmax(x) for x in q]
    kv = list(zip(k, v))
    for t in range(n):
        for r, (kk, vv) in enumerate(kv):
            softmax[r].tile(scores(r, kk, t), many(vv))
        kv = ring_shift(kv)
    out, lse = zip(*(x.finish() for x in softmax))
    dq = [np.zeros_like(x) for x in q]
    travellers = [[kk, vv, np.zeros_like(kk), np.zeros_like(vv)] for kk, vv in zip(k, v)]
    for t in range(n):
        for r, box in enumerate(travellers):
            p = np.exp(scores(r, box[0], t) - lse[r])
            ds = p * (dout[r] @ many(box[1]).swapaxes(2, 3) - (out[r] * dout[r]).sum(3, keepdims=True)) * scale
            dq[r] += ds @ many(box[0])
            box[2] += few(ds.swapaxes(2, 3) @ q[r])
            box[3] += few(p.swapaxes(2, 3) @ dout[r])
        travellers = ring_shift(travellers)
    return dict(out=gather(list(out), rows), lse=gather(list(lse), rows), dq=gather(dq, rows),
                dk=gather([x[2] for x in travellers], rows), dv=gather([x[3] for x in travellers], rows))
