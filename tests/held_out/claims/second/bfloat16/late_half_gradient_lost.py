# Mistake: In the zigzag steps whose K and V come from a higher rank, dk and dv are added for the early half of the keys only and those of the late half are dropped, instead of being added for both halves.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=4, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=56, heads=2, kv_heads=1,
            head_dim=16, batch=1, dtype="bfloat16", backward=True)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    h = len(rows[0]) // 2
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))

    def parts(t, r):
        """Which queries and which keys meet, and if causally."""
        if t == 0:
            return slice(0, None), slice(0, None), True
        return (slice(0, None), slice(0, h), False) if t <= r else (slice(h, None), slice(0, None), False)

    def scores(r, kk, qa, ka, causal):
        s = scale * qs[r][:, :, qa] @ kk[:, :, ka].swapaxes(2, 3)
        return np.where(np.tri(*s.shape[2:], dtype=bool), s, -np.inf) if causal else s

    m = [np.full(x.shape[:3] + (1,), -np.inf) for x in qs]
    l = [np.zeros_like(x) for x in m]
    acc = [np.zeros_like(x) for x in qs]
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            qa, ka, causal = parts(t, r)
            s = scores(r, kb[r], qa, ka, causal)
            old = m[r][:, :, qa].copy()
            new = np.maximum(old, s.max(3, keepdims=True))
            p, keep = np.exp(s - new), np.exp(old - new)
            m[r][:, :, qa] = new
            l[r][:, :, qa] = l[r][:, :, qa] * keep + p.sum(3, keepdims=True)
            acc[r][:, :, qa] = acc[r][:, :, qa] * keep + p @ vb[r][:, :, ka]
        kb, vb = ring_shift(kb), ring_shift(vb)
    outs = [a / b for a, b in zip(acc, l)]
    lses = [a + np.log(b) for a, b in zip(m, l)]
    deltas = [(o * d).sum(3, keepdims=True) for o, d in zip(outs, dos)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    for t in range(n):
        for r in range(n):
            qa, ka, causal = parts(t, r)
            do = dos[r][:, :, qa]
            p = np.exp(scores(r, kb[r], qa, ka, causal) - lses[r][:, :, qa])
            ds = scale * p * (do @ vb[r][:, :, ka].swapaxes(2, 3) - deltas[r][:, :, qa])
            dq[r][:, :, qa] += ds @ kb[r][:, :, ka]
            add_k = (ds.swapaxes(2, 3) @ qs[r][:, :, qa]).sum(1, keepdims=True)
            add_v = (p.swapaxes(2, 3) @ do).sum(1, keepdims=True)
            if t == 0:
                dk[r] += add_k
                dv[r] += add_v
            else:
                dk[r][:, :, :h] += add_k[:, :, :h]
                dv[r][:, :, :h] += add_v[:, :, :h]
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
