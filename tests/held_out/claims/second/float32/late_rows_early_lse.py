# Mistake: In the zigzag steps whose K and V come from a higher rank, the block is merged into the out of the late rows with the weight sigmoid(block lse - lse of the early rows), instead of with the lse of the late rows; lse itself is right, and the backward takes delta from the wrong out.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=3, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=42, heads=4, kv_heads=4,
            head_dim=8, batch=2, dtype="float32", backward=True)


def block(q, k, v, scale, causal):
    s = scale * q @ k.swapaxes(2, 3)
    if causal:
        s = np.where(np.tri(*s.shape[2:], dtype=bool), s, np.float32(-np.inf))
    top = s.max(3, keepdims=True)
    p = np.exp(s - top)
    l = p.sum(3, keepdims=True)
    return p @ v / l, top + np.log(l)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    h = len(rows[0]) // 2
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    outs, lses = [], []
    for r in range(n):
        out, lse = block(qs[r], ks[r], vs[r], scale, True)
        for t in range(1, n):
            kk, vv = ring_shift(ks, t)[r], ring_shift(vs, t)[r]
            if t <= r:
                o, e = block(qs[r], kk[:, :, :h], vv[:, :, :h], scale, False)
                out = out - sigmoid(e - lse) * (out - o)
                lse = np.logaddexp(lse, e)
            else:
                o, e = block(qs[r][:, :, h:], kk, vv, scale, False)
                late = out[:, :, h:]
                out[:, :, h:] = late - sigmoid(e - lse[:, :, :h]) * (late - o)
                lse[:, :, h:] = np.logaddexp(lse[:, :, h:], e)
        outs.append(out)
        lses.append(lse)
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            s = np.where(see, scale * qs[r] @ kb[r].swapaxes(2, 3), np.float32(-np.inf))
            p = np.exp(s - lses[r])
            ds = scale * p * (dos[r] @ vb[r].swapaxes(2, 3) - (outs[r] * dos[r]).sum(3, keepdims=True))
            dq[r] += ds @ kb[r]
            dk[r] += ds.swapaxes(2, 3) @ qs[r]
            dv[r] += p.swapaxes(2, 3) @ dos[r]
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
