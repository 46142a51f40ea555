# Mistake: the local triangle of two ranks of unequal length is aligned at the bottom right, as the newer kernels do it;
# under stripes it belongs at the top left, where row i and column i are of the same turn.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=4, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=58, heads=2, kv_heads=2,
            head_dim=8, batch=1, dtype="bfloat16", backward=True)


def triangle(nq, nk, strict):
    i, j = np.ogrid[:nq, :nk]
    i = i + nk - nq
    return j < i if strict else j <= i


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    qs, dos = scatter(q, rows), scatter(dout, rows)
    ring = [dict(src=r, k=a, v=b, dk=np.zeros_like(a), dv=np.zeros_like(b))
            for r, (a, b) in enumerate(zip(scatter(k, rows), scatter(v, rows)))]

    def s_of(r, got):
        see = triangle(qs[r].shape[2], got["k"].shape[2], got["src"] > r)
        return np.where(see, scale * qs[r] @ got["k"].swapaxes(2, 3), -np.inf)

    mz = [(np.full(x.shape[:3] + (1,), -1e300), np.zeros(x.shape[:3] + (1,)), np.zeros_like(x)) for x in qs]
    for _ in range(n):
        for r, got in enumerate(ring):
            m, z, o = mz[r]
            s = s_of(r, got)
            top = np.maximum(m, s.max(3, keepdims=True))
            e, a = np.exp(s - top), np.exp(m - top)
            mz[r] = top, z * a + e.sum(3, keepdims=True), o * a + e @ got["v"]
        ring = ring_shift(ring)
    out, lse = [o / z for m, z, o in mz], [m + np.log(z) for m, z, o in mz]
    dq = [np.zeros_like(x) for x in qs]
    for _ in range(n):
        for r, got in enumerate(ring):
            p = np.exp(s_of(r, got) - lse[r])
            ds = scale * p * (dos[r] @ got["v"].swapaxes(2, 3) - (dos[r] * out[r]).sum(3, keepdims=True))
            dq[r] += ds @ got["k"]
            got["dk"] += ds.swapaxes(2, 3) @ qs[r]
            got["dv"] += p.swapaxes(2, 3) @ dos[r]
        ring = ring_shift(ring)
    return dict(out=gather(out, rows), lse=gather(lse, rows), dq=gather(dq, rows),
                dk=gather([x["dk"] for x in ring], rows), dv=gather([x["dv"] for x in ring], rows))
