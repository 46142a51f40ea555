# Mistake: The scores are kept in base 2 (multiplied by log2 e) and the returned lse is m2 * ln 2 + log2(l) instead of m2 * ln 2 + ln(l): the maximum is turned into natural units, the logarithm of the sum is not; out is right.
import math

import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="zigzag", causal=True, window=None, cu_seqlens=[0, 17, 35, 50], seqlen=50, heads=8, kv_heads=4,
            head_dim=8, batch=1, dtype="float32", backward=False)
TO_BASE_2 = math.log2(math.e) * CASE["head_dim"] ** -0.5


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    kv_heads, group = CASE["kv_heads"], CASE["heads"] // CASE["kv_heads"]
    split = lambda x: x.reshape(x.shape[0], kv_heads, group, *x.shape[2:])
    qs, ks, vs = [split(x) for x in scatter(q, rows)], scatter(k, rows), scatter(v, rows)
    m = [np.full(x.shape[:4], -np.inf, np.float32) for x in qs]
    l = [np.zeros(x.shape[:4], np.float32) for x in qs]
    acc = [np.zeros_like(x) for x in qs]
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            s = np.einsum("bgnqd,bgkd->bgnqk", qs[r], ks[r]) * np.float32(TO_BASE_2)
            s[..., ~see] = -np.inf
            new = np.maximum(m[r], s.max(-1))
            base = np.maximum(new, np.float32(-1e30))
            p = np.exp2(s - base[..., None])
            keep = np.exp2(m[r] - base)
            acc[r] = acc[r] * keep[..., None] + np.einsum("bgnqk,bgkd->bgnqd", p, vs[r])
            l[r] = l[r] * keep + p.sum(-1)
            m[r] = new
        ks, vs = ring_shift(ks), ring_shift(vs)
    join = lambda x: x.reshape(x.shape[0], -1, *x.shape[3:])
    outs = [join(a / b[..., None]) for a, b in zip(acc, l)]
    lses = [join(a * np.float32(math.log(2)) + np.log2(b)) for a, b in zip(m, l)]
    return dict(out=gather(outs, rows), lse=gather(lses, rows))
