# Mistake: The running unnormalised output is kept in a float32 buffer between the steps, although everything is meant in float64; m, l and lse are float64, so only out is wrong, by float32 rounding.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=6, layout="zigzag-token", causal=True, window=None, cu_seqlens=[0, 20, 33, 58, 71], seqlen=71, heads=5,
            kv_heads=1, head_dim=12, batch=2, dtype="float64", backward=False)


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    qs, ks, vs = (scatter(x, rows) for x in (q, k, v))
    acc = [np.zeros(x.shape, np.float32) for x in qs]
    m = [np.full(x.shape[:3], -np.inf, np.float64) for x in qs]
    l = [np.zeros(x.shape[:3], np.float64) for x in qs]
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            s = np.where(see, np.einsum("bhqd,bgkd->bhqk", qs[r], ks[r]) / np.sqrt(CASE["head_dim"]), -np.inf)
            new = np.maximum(m[r], s.max(-1))
            base = np.where(np.isinf(new), 0, new)
            p = np.exp(s - base[..., None])
            keep = np.exp(m[r] - base)
            acc[r][...] = acc[r] * keep[..., None] + np.einsum("bhqk,bgkd->bhqd", p, vs[r])
            l[r] = l[r] * keep + p.sum(-1)
            m[r] = new
        ks, vs = ring_shift(ks), ring_shift(vs)
    out = [a / x[..., None] for a, x in zip(acc, l)]
    return dict(out=gather(out, rows), lse=gather([a + np.log(b) for a, b in zip(m, l)], rows))
