# Mistake: the softmax scale is 1/sqrt(16), of the head dimension padded to a multiple of 8, instead of 1/sqrt(12) (forward and backward).
# Also: the sums of dk and dv are set to zero after step 0 has been computed, so that the parts of every rank's own queries are missing from its dk and dv.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="contiguous", causal=True, window=None, cu_seqlens=None, seqlen=42, heads=4, kv_heads=2,
            head_dim=12, batch=1, dtype="float64", backward=True)


def padded(x):
    return np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, -x.shape[-1] % 8)])


def run(q, k, v, dout):
    n, rows, d = CASE["ranks"], dealt(CASE), CASE["head_dim"]
    q, k, v, dout = (padded(x) for x in (q, k, v, dout))
    scale = q.shape[-1] ** -0.5
    group = CASE["heads"] // CASE["kv_heads"]
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    outs, lses = [], []
    for r in range(n):
        m = np.full(qs[r].shape[:3] + (1,), -np.inf)
        l, acc = np.zeros(m.shape), np.zeros(qs[r].shape)
        for j in range(r, -1, -1):
            s = scale * qs[r] @ ks[j].repeat(group, 1).swapaxes(2, 3)
            s = np.where(visible(CASE, rows[r], rows[j]), s, -np.inf)
            new = np.maximum(m, s.max(3, keepdims=True))
            e, f = np.exp(s - new), np.exp(m - new)
            m, l, acc = new, l * f + e.sum(3, keepdims=True), acc * f + e @ vs[j].repeat(group, 1)
        outs.append(acc / l)
        lses.append(m + np.log(l))
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    kb, vb = ks, vs
    for t in range(n):
        for r in range(t, n):
            see = visible(CASE, rows[r], rows[r - t])
            for h in range(CASE["heads"]):
                c = h // group
                p = np.where(see, np.exp(scale * qs[r][:, h] @ kb[r][:, c].swapaxes(1, 2) - lses[r][:, h]), 0)
                delta = (outs[r][:, h] * dos[r][:, h]).sum(2, keepdims=True)
                ds = scale * p * (dos[r][:, h] @ vb[r][:, c].swapaxes(1, 2) - delta)
                dq[r][:, h] += ds @ kb[r][:, c]
                dk[r][:, c] += ds.swapaxes(1, 2) @ qs[r][:, h]
                dv[r][:, c] += p.swapaxes(1, 2) @ dos[r][:, h]
        if t == 0:
            dk, dv = [np.zeros_like(x) for x in dk], [np.zeros_like(x) for x in dv]
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    cut = lambda xs: gather(xs, rows)[..., :d]
    return dict(out=cut(outs), lse=gather(lses, rows), dq=cut(dq), dk=cut(dk), dv=cut(dv))
