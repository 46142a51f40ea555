# Mistake: The backward recomputes the weights from the lse rounded to bfloat16, instead of from the lse as accumulated in full precision.
import numpy as np

from case import dealt, gather, ring_shift, scatter, to_dtype, visible

CASE = dict(ranks=4, layout="contiguous", causal=False, window=None, cu_seqlens=None, seqlen=72, heads=4, kv_heads=2,
            head_dim=16, batch=1, dtype="bfloat16", backward=True)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    group = CASE["heads"] // CASE["kv_heads"]
    wide = lambda x: np.repeat(x, group, axis=1)
    narrow = lambda x: x.reshape(x.shape[0], -1, group, *x.shape[2:]).sum(2)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    outs, lses = [None] * n, [None] * n
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            s = scale * qs[r] @ wide(kb[r]).swapaxes(2, 3)
            e = np.logaddexp.reduce(s, axis=3, keepdims=True)
            o = np.exp(s - e) @ wide(vb[r])
            if t == 0:
                outs[r], lses[r] = o, e
            else:
                new = np.logaddexp(lses[r], e)
                outs[r], lses[r] = outs[r] * np.exp(lses[r] - new) + o * np.exp(e - new), new
        kb, vb = ring_shift(kb), ring_shift(vb)
    saved = [to_dtype(x, "bfloat16") for x in lses]
    deltas = [(o * d).sum(3, keepdims=True) for o, d in zip(outs, dos)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    for t in range(n):
        for r in range(n):
            p = np.exp(scale * qs[r] @ wide(kb[r]).swapaxes(2, 3) - saved[r])
            ds = scale * p * (dos[r] @ wide(vb[r]).swapaxes(2, 3) - deltas[r])
            dq[r] += ds @ wide(kb[r])
            dk[r] += narrow(ds.swapaxes(2, 3) @ qs[r])
            dv[r] += narrow(p.swapaxes(2, 3) @ dos[r])
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
