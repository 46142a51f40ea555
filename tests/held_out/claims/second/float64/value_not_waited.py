# Mistake: From ring step 1 on the forward reads V from the buffer before its receive has finished, so the keys of step t weigh the values of step t - 1 instead of the values of step t; lse is right, the backward reads the right V but takes delta from the wrong out.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=40, heads=2, kv_heads=2,
            head_dim=16, batch=1, dtype="float64", backward=True)


class Inbox:
    """A receive buffer: holds the old thing until wait() is called."""

    def __init__(self, things):
        self.now, self.coming = things, None

    def post(self, things):
        if self.coming is not None:
            self.wait()
        self.coming = ring_shift(things)

    def wait(self):
        self.now, self.coming = self.coming, None


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    m = [np.full(x.shape[:3] + (1,), -np.inf) for x in qs]
    l = [np.zeros_like(x) for x in m]
    acc = [np.zeros_like(x) for x in qs]
    kin, vin, sent_v = Inbox(ks), Inbox(vs), vs
    for t in range(n):
        if t > 0:
            kin.wait()
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            s = np.where(see, scale * qs[r] @ kin.now[r].swapaxes(2, 3), -np.inf)
            new = np.maximum(m[r], s.max(3, keepdims=True))
            p, keep = np.exp(s - new), np.exp(m[r] - new)
            m[r], l[r], acc[r] = new, l[r] * keep + p.sum(3, keepdims=True), acc[r] * keep + p @ vin.now[r]
        kin.post(kin.now)
        vin.post(sent_v)
        sent_v = vin.coming
    outs = [a / b for a, b in zip(acc, l)]
    lses = [a + np.log(b) for a, b in zip(m, l)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            p = np.exp(np.where(see, scale * qs[r] @ kb[r].swapaxes(2, 3), -np.inf) - lses[r])
            ds = scale * p * (dos[r] @ vb[r].swapaxes(2, 3) - (outs[r] * dos[r]).sum(3, keepdims=True))
            dq[r] += ds @ kb[r]
            dk[r] += ds.swapaxes(2, 3) @ qs[r]
            dv[r] += p.swapaxes(2, 3) @ dos[r]
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
