# Mistake: keys and values are all-gathered, and in the backward pass every rank takes its slice of the dk and dv of its own queries instead of the sum over all ranks (reduce-scatter).
import numpy as np

from case import dealt, gather, scatter

CASE = dict(ranks=3, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=47, heads=6, kv_heads=2,
            head_dim=8, batch=1, dtype="float32", backward=True)


class Gathered:
    """Shards of the ranks, put together in the order of the sequence."""

    @staticmethod
    def forward(shards, rows):
        return [gather(shards, rows) for _ in shards]

    @staticmethod
    def backward(grads, rows):
        return [g[:, :, mine] for g, mine in zip(grads, rows)]


def attention(q, k, v, dout, mine):
    b, heads, nq, d = q.shape
    kv_heads, nk, scale = k.shape[1], k.shape[2], d ** -0.5
    q5, g5 = q.reshape(b, kv_heads, -1, nq, d), dout.reshape(b, kv_heads, -1, nq, d)
    s = np.einsum("bgnqd,bgkd->bgnqk", q5, k) * scale
    s[..., np.arange(nk)[None, :] > mine[:, None]] = -np.inf
    m = s.max(-1, keepdims=True)
    p = np.exp(s - m)
    z = p.sum(-1, keepdims=True)
    p /= z
    lse = m + np.log(z)
    out = np.einsum("bgnqk,bgkd->bgnqd", p, v)
    dv = np.einsum("bgnqk,bgnqd->bgkd", p, g5)
    dp = np.einsum("bgnqd,bgkd->bgnqk", g5, v)
    ds = p * (dp - (out * g5).sum(-1, keepdims=True)) * scale
    dq = np.einsum("bgnqk,bgkd->bgnqd", ds, k)
    dk = np.einsum("bgnqk,bgnqd->bgkd", ds, q5)
    return [x.reshape(b, heads, nq, -1) for x in (out, lse, dq)] + [dk, dv]


def run(q, k, v, dout):
    rows = dealt(CASE)
    qs, ks, vs, gs = (scatter(x, rows) for x in (q, k, v, dout))
    done = [attention(a, b, c, e, mine)
            for a, b, c, e, mine in zip(qs, Gathered.forward(ks, rows), Gathered.forward(vs, rows), gs, rows)]
    out, lse, dq, dk, dv = map(list, zip(*done))
    dk, dv = Gathered.backward(dk, rows), Gathered.backward(dv, rows)
    return {name: gather(x, rows) for name, x in zip(("out", "lse", "dq", "dk", "dv"), (out, lse, dq, dk, dv))}
