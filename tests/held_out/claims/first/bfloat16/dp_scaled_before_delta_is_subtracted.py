# Mistake: dS = P * (scale * dP - delta) instead of scale * P * (dP - delta), for dq and dk alike.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=5, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=52, heads=4, kv_heads=2,
            head_dim=16, batch=1, dtype="bfloat16", backward=True)
GROUP = CASE["heads"] // CASE["kv_heads"]


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    out, lse, dq = ([np.zeros(x.shape[:3] + (w,)) for x in qs] for w in (CASE["head_dim"], 1, CASE["head_dim"]))
    for r in range(n):
        m = np.full(lse[r].shape, -np.inf)
        l, acc = np.zeros(lse[r].shape), out[r]
        for t in range(n):
            src = (r - t) % n
            see = visible(CASE, rows[r], rows[src])
            for h in range(CASE["heads"]):
                qh, kh, vh = qs[r][:, h], ks[src][:, h // GROUP], vs[src][:, h // GROUP]
                s = np.where(see, scale * qh @ kh.swapaxes(1, 2), -np.inf)
                new = np.maximum(m[:, h], s.max(2, keepdims=True))
                e, f = np.exp(s - new), np.exp(m[:, h] - new)
                l[:, h] = l[:, h] * f + e.sum(2, keepdims=True)
                acc[:, h] = acc[:, h] * f + e @ vh
                m[:, h] = new
        out[r] = acc / l
        lse[r] = m + np.log(l)
    dk, dv = [np.zeros_like(x) for x in ks], [np.zeros_like(x) for x in vs]
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            for h in range(CASE["heads"]):
                c = h // GROUP
                qh, kh, vh, doh = qs[r][:, h], kb[r][:, c], vb[r][:, c], dos[r][:, h]
                p = np.where(see, np.exp(scale * qh @ kh.swapaxes(1, 2) - lse[r][:, h]), 0)
                delta = (out[r][:, h] * doh).sum(2, keepdims=True)
                dp = doh @ vh.swapaxes(1, 2)
                ds = p * (scale * dp - delta)
                dq[r][:, h] += ds @ kh
                dk[r][:, c] += ds.swapaxes(1, 2) @ qh
                dv[r][:, c] += p.swapaxes(1, 2) @ doh
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(out=gather(out, rows), lse=gather(lse, rows), dq=gather(dq, rows), dk=gather(dk, rows), dv=gather(dv, rows))
