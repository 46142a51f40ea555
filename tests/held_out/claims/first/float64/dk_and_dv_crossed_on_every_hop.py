# Mistake: at every hop of the gradients the sum of dk is received into the buffer of dv and that of dv into the buffer of dk.
import numpy as np

from case import dealt, gather, scatter

CASE = dict(ranks=4, layout="striped", causal=False, window=None, cu_seqlens=None, seqlen=42, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float64", backward=True)
N, SCALE = CASE["ranks"], CASE["head_dim"] ** -0.5


class Mail:
    """What is under way: sent by a rank, received once by its neighbour."""

    def __init__(self):
        self.box = {}

    def send(self, rank, *things):
        self.box[(rank + 1) % N] = things

    def receive(self, rank):
        return self.box.pop(rank)


def run(q, k, v, dout):
    rows, mail = dealt(CASE), Mail()
    C, g = CASE["kv_heads"], CASE["heads"] // CASE["kv_heads"]
    cut = lambda x: [y.reshape(y.shape[0], C, g, y.shape[2], y.shape[3]) for y in scatter(x, rows)]
    qs, dos, ks, vs = cut(q), cut(dout), scatter(k, rows), scatter(v, rows)

    hand = list(zip(ks, vs))
    m = [x[..., :1] * 0 - 1e9 for x in qs]
    l, acc = [x[..., :1] * 0 for x in qs], [x * 0 for x in qs]
    for t in range(N):
        for r in range(N):
            kb, vb = hand[r]
            s = SCALE * np.einsum("bcgqd,bckd->bcgqk", qs[r], kb)
            new = np.maximum(m[r], s.max(-1, keepdims=True))
            w = np.exp(s - new)
            acc[r] = acc[r] * np.exp(m[r] - new) + np.einsum("bcgqk,bckd->bcgqd", w, vb)
            l[r] = l[r] * np.exp(m[r] - new) + w.sum(-1, keepdims=True)
            m[r] = new
            mail.send(r, kb, vb)
        hand = [mail.receive(r) for r in range(N)]
    out, lse = [a / b for a, b in zip(acc, l)], [a + np.log(b) for a, b in zip(m, l)]

    dq = [x * 0 for x in qs]
    hand = [(a, b, a * 0, b * 0) for a, b in zip(ks, vs)]
    for t in range(N):
        for r in range(N):
            kb, vb, dk, dv = hand[r]
            p = np.exp(SCALE * np.einsum("bcgqd,bckd->bcgqk", qs[r], kb) - lse[r])
            dp = np.einsum("bcgqd,bckd->bcgqk", dos[r], vb)
            ds = SCALE * p * (dp - np.sum(out[r] * dos[r], -1, keepdims=True))
            dq[r] = dq[r] + np.einsum("bcgqk,bckd->bcgqd", ds, kb)
            dk = dk + np.einsum("bcgqk,bcgqd->bckd", ds, qs[r])
            dv = dv + np.einsum("bcgqk,bcgqd->bckd", p, dos[r])
            mail.send(r, kb, vb, dv, dk)
        hand = [mail.receive(r) for r in range(N)]
    flat = lambda xs: gather([x.reshape(x.shape[0], C * g, x.shape[3], x.shape[4]) for x in xs], rows)
    return dict(out=flat(out), lse=flat(lse), dq=flat(dq), dk=gather([x[2] for x in hand], rows), dv=gather([x[3] for x in hand], rows))
