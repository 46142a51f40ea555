# Mistake: with a window the ring stops after window // rows hops; the window of a rank's first query reaches into one
# block more, so it needs ceil(window / rows).
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=6, layout="contiguous", causal=True, window=18, cu_seqlens=None, seqlen=72, heads=4, kv_heads=4,
            head_dim=8, batch=1, dtype="bfloat16", backward=True)


def hops():
    per_rank = CASE["seqlen"] // CASE["ranks"]
    return min(CASE["ranks"] - 1, CASE["window"] // per_rank)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))

    def s_of(r, t, kb):
        return np.where(visible(CASE, rows[r], rows[r - t]), scale * np.einsum("bhqd,bhkd->bhqk", qs[r], kb), -np.inf)

    m = [np.full(x.shape[:3] + (1,), -np.inf) for x in qs]
    z, acc = [np.zeros_like(x) for x in m], [np.zeros_like(x) for x in qs]
    kb, vb = ks, vs
    for t in range(hops() + 1):
        for r in range(t, n):
            s = s_of(r, t, kb[r])
            new = np.maximum(m[r], s.max(3, keepdims=True))
            e, a = np.exp(s - new), np.exp(m[r] - new)
            m[r], z[r], acc[r] = new, a * z[r] + e.sum(3, keepdims=True), a * acc[r] + e @ vb[r]
        kb, vb = ring_shift(kb), ring_shift(vb)
    out, lse = [a / b for a, b in zip(acc, z)], [a + np.log(b) for a, b in zip(m, z)]
    dq, dk, dv = ([np.zeros_like(x) for x in y] for y in (qs, ks, vs))
    kb, vb = ks, vs
    for t in range(hops() + 1):
        for r in range(t, n):
            p = np.exp(s_of(r, t, kb[r]) - lse[r])
            ds = scale * p * (dos[r] @ vb[r].swapaxes(2, 3) - (dos[r] * out[r]).sum(3, keepdims=True))
            dq[r] += ds @ kb[r]
            dk[r] += ds.swapaxes(2, 3) @ qs[r]
            dv[r] += p.swapaxes(2, 3) @ dos[r]
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    dk, dv = ring_shift(dk, -hops() - 1), ring_shift(dv, -hops() - 1)
    return dict(out=gather(out, rows), lse=gather(lse, rows), dq=gather(dq, rows), dk=gather(dk, rows), dv=gather(dv, rows))
