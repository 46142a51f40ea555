# Mistake: the scale of ds is applied where dq is written, and dk, which is made of the same ds, never gets it.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=3, layout="zigzag", causal=True, window=None, cu_seqlens=[0, 25, 54], seqlen=54, heads=4, kv_heads=2,
            head_dim=16, batch=1, dtype="bfloat16", backward=True)


def step(q, k, v, do, lse, delta, see, scale):
    """The backward of one block for one key head and its query heads: [B, G, T, D] and [B, T, D]."""
    s = np.einsum("bgqd,bkd->bgqk", q, k) * scale
    p = np.exp(np.where(see, s, -np.inf) - lse)
    ds = p * (np.einsum("bgqd,bkd->bgqk", do, v) - delta)
    dq = np.einsum("bgqk,bkd->bgqd", ds, k) * scale
    dk = np.einsum("bgqk,bgqd->bkd", ds, q)
    return dq, dk, np.einsum("bgqk,bgqd->bkd", p, do)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    g = CASE["heads"] // CASE["kv_heads"]
    outs, lses = [np.zeros_like(x) for x in qs], [np.full(x.shape[:3] + (1,), -np.inf) for x in qs]
    dq, dk, dv = ([np.zeros_like(x) for x in y] for y in (qs, ks, vs))
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            for h in range(CASE["heads"]):
                s = np.where(see, scale * qs[r][:, h] @ ks[r][:, h // g].swapaxes(1, 2), -np.inf)
                old = lses[r][:, h].copy()
                new = np.logaddexp(old, np.logaddexp.reduce(s, axis=2, keepdims=True))
                safe = np.where(np.isinf(new), 0, new)
                outs[r][:, h] = outs[r][:, h] * np.exp(old - safe) + np.exp(s - safe) @ vs[r][:, h // g]
                lses[r][:, h] = new
        ks, vs = ring_shift(ks), ring_shift(vs)
    deltas = [np.einsum("bhqd,bhqd->bhq", a, b)[..., None] for a, b in zip(outs, dos)]
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            for c in range(CASE["kv_heads"]):
                h = slice(c * g, c * g + g)
                a, b, d = step(qs[r][:, h], ks[r][:, c], vs[r][:, c], dos[r][:, h], lses[r][:, h], deltas[r][:, h], see, scale)
                dq[r][:, h] += a
                dk[r][:, c] += b
                dv[r][:, c] += d
        ks, vs, dk, dv = (ring_shift(x) for x in (ks, vs, dk, dv))
    return dict(out=gather(outs, rows), lse=gather(lses, rows), dq=gather(dq, rows), dk=gather(dk, rows), dv=gather(dv, rows))
