# Mistake: The lse of a received block (ring step above 0), stored by the kernel as [batch, rows, heads], is reinterpreted as [batch, heads, rows] by a reshape, instead of being transposed to it, before the merge into out and lse; the backward uses the wrong lse and out.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=3, layout="contiguous", causal=True, window=None, cu_seqlens=None, seqlen=37, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float32", backward=True)
GROUP = CASE["heads"] // CASE["kv_heads"]


def kernel(q, k, v, scale, causal):
    """out [b, h, s, d], lse [b, s, h]."""
    s = scale * q @ k.repeat(GROUP, 1).swapaxes(2, 3)
    if causal:
        s = np.where(np.tri(*s.shape[2:], dtype=bool), s, np.float32(-np.inf))
    top = s.max(3, keepdims=True)
    p = np.exp(s - top)
    l = p.sum(3, keepdims=True)
    return p @ v.repeat(GROUP, 1) / l, (top + np.log(l))[..., 0].transpose(0, 2, 1)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    outs, lses = [None] * n, [None] * n
    kb, vb = ks, vs
    for t in range(n):
        for r in range(t, n):
            o, e = kernel(qs[r], kb[r], vb[r], scale, t == 0)
            b, length, heads = e.shape
            if t == 0:
                outs[r], lses[r] = o, np.ascontiguousarray(e.transpose(0, 2, 1))[..., None]
            else:
                e = np.ascontiguousarray(e).reshape(b, heads, length, 1)
                new = np.logaddexp(lses[r], e)
                outs[r] = np.exp(lses[r] - new) * outs[r] + np.exp(e - new) * o
                lses[r] = new
        kb, vb = ring_shift(kb), ring_shift(vb)
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    narrow = lambda x: x.reshape(x.shape[0], -1, GROUP, *x.shape[2:]).sum(2)
    kb, vb = ks, vs
    for t in range(n):
        for r in range(t, n):
            kk, vv = kb[r].repeat(GROUP, 1), vb[r].repeat(GROUP, 1)
            p = np.exp(scale * qs[r] @ kk.swapaxes(2, 3) - lses[r])
            if t == 0:
                p = np.tril(p)
            ds = scale * p * (dos[r] @ vv.swapaxes(2, 3) - (outs[r] * dos[r]).sum(3, keepdims=True))
            dq[r] += ds @ kk
            dk[r] += narrow(ds.swapaxes(2, 3) @ qs[r])
            dv[r] += narrow(p.swapaxes(2, 3) @ dos[r])
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
