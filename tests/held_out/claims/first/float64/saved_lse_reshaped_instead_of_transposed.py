# Mistake: the backward pass reads the saved lse, [batch, rows, heads] on each rank, by reshape to [batch, heads, rows] instead of by transposition; the returned lse is right.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=2, layout="contiguous", causal=True, window=None, cu_seqlens=None, seqlen=31, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float64", backward=True)
N = CASE["ranks"]


def bshd(x):
    return x.transpose(0, 2, 1, 3)


def kernel(q, k, v, see):
    """[batch, rows, heads, width] in, the same and lse [batch, rows, heads] out."""
    g = q.shape[2] // k.shape[2]
    s = np.einsum("bqhd,bkhd->bqhk", q, k.repeat(g, 2)) / np.sqrt(q.shape[3])
    s = np.where(see[None, :, None, :], s, -np.inf)
    top = s.max(-1)
    e = np.exp(s - top[..., None])
    l = e.sum(-1)
    return np.einsum("bqhk,bkhd->bqhd", e, v.repeat(g, 2)) / l[..., None], top + np.log(l)


def run(q, k, v, dout):
    rows = dealt(CASE)
    qs, ks, vs, dos = ([bshd(x) for x in scatter(y, rows)] for y in (q, k, v, dout))
    outs, saved = [None] * N, [None] * N
    kv = list(zip(ks, vs))
    for t in range(N):
        for r in range(t, N):
            o, e = kernel(qs[r], *kv[r], visible(CASE, rows[r], rows[r - t]))
            if t:
                w = 1 / (1 + np.exp(saved[r] - e))[..., None]
                o, e = (1 - w) * outs[r] + w * o, np.logaddexp(saved[r], e)
            outs[r], saved[r] = o, e
        kv = ring_shift(kv)

    lses = [x.transpose(0, 2, 1)[..., None] for x in saved]
    dq, dk, dv = ([np.zeros_like(bshd(x)) for x in xs] for xs in (qs, ks, vs))
    for t in range(N):
        for r in range(t, N):
            b, s, h = saved[r].shape
            e = saved[r].reshape(b, h, s)[..., None]
            qq, kk, vv, gg, oo = (bshd(x) for x in (qs[r], *kv[r], dos[r], outs[r]))
            g = h // kk.shape[1]
            see = visible(CASE, rows[r], rows[r - t])
            p = np.where(see, np.exp(qq @ kk.repeat(g, 1).swapaxes(2, 3) / np.sqrt(qq.shape[3]) - e), 0)
            ds = p * (gg @ vv.repeat(g, 1).swapaxes(2, 3) - (gg * oo).sum(3, keepdims=True)) / np.sqrt(qq.shape[3])
            dq[r] += ds @ kk.repeat(g, 1)
            for c in range(kk.shape[1]):
                of = slice(c * g, (c + 1) * g)
                dk[r][:, c] += (ds[:, of].swapaxes(2, 3) @ qq[:, of]).sum(1)
                dv[r][:, c] += (p[:, of].swapaxes(2, 3) @ gg[:, of]).sum(1)
        kv, dk, dv = ring_shift(kv), ring_shift(dk), ring_shift(dv)
    return dict(out=gather([bshd(x) for x in outs], rows), lse=gather(lses, rows), dq=gather(dq, rows),
                dk=gather(dk, rows), dv=gather(dv, rows))
