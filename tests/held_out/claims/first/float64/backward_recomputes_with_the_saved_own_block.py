# Mistake: at every step of the backward ring the block gradients are computed from the rank's own saved keys and values instead of the block that has arrived; dk and dv of this are added to the sums of the block that has arrived.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=3, layout="contiguous", causal=False, window=None, cu_seqlens=None, seqlen=33, heads=4, kv_heads=2,
            head_dim=6, batch=2, dtype="float64", backward=True)
GROUP = CASE["heads"] // CASE["kv_heads"]
SCALE = CASE["head_dim"] ** -0.5


class Context:
    saved = ()


def op_forward(ctx, q, k, v, save):
    if save:
        ctx.saved = (q, k, v)
    s = SCALE * np.einsum("bhqd,bhkd->bhqk", q, k.repeat(GROUP, 1))
    top = s.max(-1, keepdims=True)
    e = np.exp(s - top)
    z = e.sum(-1, keepdims=True)
    return np.einsum("bhqk,bhkd->bhqd", e / z, v.repeat(GROUP, 1)), top + np.log(z)


def op_backward(ctx, k, v, dout, out, lse):
    q, k, v = ctx.saved
    kk, vv = k.repeat(GROUP, 1), v.repeat(GROUP, 1)
    p = np.exp(SCALE * np.einsum("bhqd,bhkd->bhqk", q, kk) - lse)
    dp = np.einsum("bhqd,bhkd->bhqk", dout, vv)
    ds = SCALE * p * (dp - (out * dout).sum(-1, keepdims=True))
    fold = lambda x: x.reshape(len(x), -1, GROUP, *x.shape[2:]).sum(2)
    return (np.einsum("bhqk,bhkd->bhqd", ds, kk), fold(np.einsum("bhqk,bhqd->bhkd", ds, q)),
            fold(np.einsum("bhqk,bhqd->bhkd", p, dout)))


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    ctxs = [Context() for _ in range(n)]
    outs, lses = [None] * n, [None] * n
    kb, vb = ks, vs
    for i in range(n):
        for r in range(n):
            o, l = op_forward(ctxs[r], qs[r], kb[r], vb[r], save=i == 0)
            if i == 0:
                outs[r], lses[r] = o, l
            else:
                new = np.logaddexp(lses[r], l)
                outs[r] = np.exp(lses[r] - new) * outs[r] + np.exp(l - new) * o
                lses[r] = new
        kb, vb = ring_shift(kb), ring_shift(vb)
    dq = [np.zeros_like(x) for x in qs]
    dk, dv = [np.zeros_like(x) for x in ks], [np.zeros_like(x) for x in vs]
    kb, vb = ks, vs
    for i in range(n):
        for r in range(n):
            a, b, c = op_backward(ctxs[r], kb[r], vb[r], dos[r], outs[r], lses[r])
            dq[r], dk[r], dv[r] = dq[r] + a, dk[r] + b, dv[r] + c
        kb, vb, dk, dv = map(ring_shift, (kb, vb, dk, dv))
    return {name: gather(x, rows) for name, x in dict(out=outs, lse=lses, dq=dq, dk=dk, dv=dv).items()}
