# Mistake: the kernel hands lse back as [batch, rows, heads]; it was reshaped, not transposed, to [batch, heads, rows]
# for the backward.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=3, layout="contiguous", causal=False, window=None, cu_seqlens=None, seqlen=47, heads=3, kv_heads=3,
            head_dim=8, batch=2, dtype="float64", backward=True)


def ring_forward(q, k, v):
    """[B, S, H, D] in, out [B, S, H, D] and lse [B, S, H] out."""
    n, scale = len(q), q[0].shape[-1] ** -0.5
    m = [np.full(x.shape[:3], -np.inf) for x in q]
    z = [np.zeros(x.shape[:3]) for x in q]
    o = [np.zeros(x.shape) for x in q]
    for _ in range(n):
        for r in range(n):
            s = scale * np.einsum("bqhd,bkhd->bqhk", q[r], k[r])
            new = np.maximum(m[r], s.max(-1))
            p = np.exp(s - new[..., None])
            fix = np.exp(m[r] - new)
            z[r] = z[r] * fix + p.sum(-1)
            o[r] = o[r] * fix[..., None] + np.einsum("bqhk,bkhd->bqhd", p, v[r])
            m[r] = new
        k, v = ring_shift(k), ring_shift(v)
    return [a / b[..., None] for a, b in zip(o, z)], [a + np.log(b) for a, b in zip(m, z)]


def ring_backward(q, k, v, out, lse, do):
    """All [B, H, S, D], lse [B, H, S]."""
    n, scale = len(q), q[0].shape[-1] ** -0.5
    dq, dk, dv = ([np.zeros(x.shape) for x in y] for y in (q, k, v))
    for _ in range(n):
        for r in range(n):
            p = np.exp(scale * q[r] @ k[r].swapaxes(2, 3) - lse[r][..., None])
            dp = do[r] @ v[r].swapaxes(2, 3)
            ds = scale * p * (dp - (do[r] * out[r]).sum(-1, keepdims=True))
            dq[r] += ds @ k[r]
            dk[r] += ds.swapaxes(2, 3) @ q[r]
            dv[r] += p.swapaxes(2, 3) @ do[r]
        k, v, dk, dv = (ring_shift(x) for x in (k, v, dk, dv))
    return dq, dk, dv


def run(q, k, v, dout):
    rows = dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    flip = lambda xs: [x.transpose(0, 2, 1, 3) for x in xs]
    o, lse = ring_forward(flip(qs), flip(ks), flip(vs))
    out = flip(o)
    b, h = CASE["batch"], CASE["heads"]
    saved = [x.reshape(b, h, -1) for x in lse]
    dq, dk, dv = ring_backward(qs, ks, vs, out, saved, dos)
    return dict(out=gather(out, rows), lse=gather([x.transpose(0, 2, 1)[..., None] for x in lse], rows),
                dq=gather(dq, rows), dk=gather(dk, rows), dv=gather(dv, rows))
