# Mistake: the running sum of the exponentials is kept in bfloat16 and written by cutting the low bits off, after every
# key: each addition loses up to 2^-7 of the sum, always downwards.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=120, heads=2, kv_heads=2,
            head_dim=8, batch=1, dtype="bfloat16", backward=False)


def keep(x):
    return (np.float32(x).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32).astype(float)


def run(q, k, v, dout):
    n, rows, c = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    Q = scatter(q, rows)
    m, l = ([np.full(x.shape[:3], fill) for x in Q] for fill in (-np.inf, 0.0))
    o = [np.zeros(x.shape) for x in Q]
    ring = list(zip(scatter(k, rows), scatter(v, rows), rows))
    for _ in range(n):
        for r, (kb, vb, cols) in enumerate(ring):
            see = visible(CASE, rows[r], cols)
            for j in range(len(cols)):
                s = c * (Q[r] * kb[:, :, j:j + 1]).sum(-1)
                s = np.where(see[:, j], s, -np.inf)
                top = np.maximum(m[r], s)
                ref = np.where(np.isinf(top), 0, top)
                w, fade = np.exp(s - ref), np.exp(m[r] - ref)
                l[r] = keep(l[r] * fade + w)
                o[r] = o[r] * fade[..., None] + w[..., None] * vb[:, :, j:j + 1]
                m[r] = top
        ring = ring_shift(ring)
    return dict(out=gather([a / b[..., None] for a, b in zip(o, l)], rows),
                lse=gather([(a + np.log(b))[..., None] for a, b in zip(m, l)], rows))
