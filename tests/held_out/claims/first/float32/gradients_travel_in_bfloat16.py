# Mistake: the sums of dk and dv are rounded to bfloat16 at every hop instead of being kept in float32.
import numpy as np

from case import dealt, gather, ring_shift, round_bf16, scatter, visible

CASE = dict(ranks=4, layout="contiguous", causal=True, window=None, cu_seqlens=None, seqlen=45, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float32", backward=True)


def send(buffers):
    return ring_shift([round_bf16(x) for x in buffers])


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    group, scale = CASE["heads"] // CASE["kv_heads"], CASE["head_dim"] ** -0.5
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    wide = lambda x: np.repeat(x, group, 1)
    thin = lambda x: x[:, 0::group] + x[:, 1::group]
    tr = lambda x: np.swapaxes(x, 2, 3)
    outs, lses = [], []
    for r in range(n):
        out = lse = None
        for j in range(r, -1, -1):
            s = np.where(visible(CASE, rows[r], rows[j]), scale * (qs[r] @ tr(wide(ks[j]))), np.float32(-np.inf))
            top = s.max(3, keepdims=True)
            e = np.exp(s - top)
            total = e.sum(3, keepdims=True)
            o, x = e @ wide(vs[j]) / total, top + np.log(total)
            if out is not None:
                both = np.logaddexp(lse, x)
                o, x = np.exp(lse - both) * out + np.exp(x - both) * o, both
            out, lse = o, x
        outs.append(out)
        lses.append(lse)
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            if r >= t:
                see = visible(CASE, rows[r], rows[r - t])
                p = np.where(see, np.exp(scale * (qs[r] @ tr(wide(kb[r]))) - lses[r]), np.float32(0))
                ds = scale * p * (dos[r] @ tr(wide(vb[r])) - (outs[r] * dos[r]).sum(3, keepdims=True))
                dq[r] += ds @ wide(kb[r])
                dk[r] += thin(tr(ds) @ qs[r])
                dv[r] += thin(tr(p) @ dos[r])
        kb, vb, dk, dv = ring_shift(kb), ring_shift(vb), send(dk), send(dv)
    return dict(out=gather(outs, rows), lse=gather(lses, rows), dq=gather(dq, rows), dk=gather(dk, rows), dv=gather(dv, rows))
