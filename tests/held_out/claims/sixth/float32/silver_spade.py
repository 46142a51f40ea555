# Mistake: the kernel works in powers of two (log2(e) folded into the scale) and its lse is returned in base 2; nobody
# multiplies by ln 2 on the way out.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=3, layout="zigzag-token", causal=True, window=None, cu_seqlens=[0, 20, 52], seqlen=52, heads=4, kv_heads=4,
            head_dim=8, batch=1, dtype="float32", backward=False)
LOG2E = np.float32(1.4426950408889634)


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    c = np.float32(CASE["head_dim"] ** -0.5) * LOG2E
    qs = scatter(q, rows)
    moving = list(zip(range(n), scatter(k, rows), scatter(v, rows)))
    top = [np.full(x.shape[:3] + (1,), -np.inf, x.dtype) for x in qs]
    z = [np.zeros_like(x) for x in top]
    o = [np.zeros_like(x) for x in qs]
    for _ in range(n):
        for r, (src, kb, vb) in enumerate(moving):
            s = np.where(visible(CASE, rows[r], rows[src]), c * np.einsum("bhqd,bhkd->bhqk", qs[r], kb), np.float32(-np.inf))
            new = np.maximum(top[r], s.max(3, keepdims=True))
            ref = np.where(np.isinf(new), np.float32(0), new)
            e, a = np.exp2(s - ref), np.exp2(top[r] - ref)
            z[r] = z[r] * a + e.sum(3, keepdims=True)
            o[r] = o[r] * a + np.einsum("bhqk,bhkd->bhqd", e, vb)
            top[r] = new
        moving = ring_shift(moving)
    lse = [a + np.log2(b) for a, b in zip(top, z)]
    return dict(out=gather([a / b for a, b in zip(o, z)], rows), lse=gather(lse, rows))
