# Mistake: The buffer for the gathered dk and dv is not cleared between the passes over the key heads, so dk and dv of key head i are the sums over the key heads 0 to i, instead of those of key head i alone.
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=4, layout="contiguous", causal=True, window=None, cu_seqlens=[0, 17, 26, 45], seqlen=45, heads=6,
            kv_heads=3, head_dim=8, batch=1, dtype="float32", backward=True)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    group, stride = CASE["heads"] // CASE["kv_heads"], 1
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    outs, dq = ([np.zeros_like(x) for x in qs] for _ in range(2))
    lses = [np.zeros(x.shape[:3] + (1,), x.dtype) for x in qs]
    dk, dv = ([np.zeros_like(x) for x in xs] for xs in (ks, vs))
    every = np.arange(CASE["seqlen"])
    see = [visible(CASE, p, every) for p in rows]
    passes = [(slice(i, i + stride), slice(i * group, (i + stride) * group)) for i in range(0, CASE["kv_heads"], stride)]
    for kh, qh in passes:
        kk, vv = (np.concatenate([x[:, kh] for x in xs], axis=2) for xs in (ks, vs))
        for r in range(n):
            s = np.where(see[r], scale * qs[r][:, qh] @ kk.swapaxes(2, 3), np.float32(-np.inf))
            top = s.max(3, keepdims=True)
            p = np.exp(s - top)
            l = p.sum(3, keepdims=True)
            outs[r][:, qh], lses[r][:, qh] = p @ vv / l, top + np.log(l)
    whole = (CASE["batch"], stride, CASE["seqlen"], CASE["head_dim"])
    dkv_buffer = [np.zeros((2,) + whole, q.dtype) for _ in range(n)]
    for kh, qh in passes:
        kk, vv = (np.concatenate([x[:, kh] for x in xs], axis=2) for xs in (ks, vs))
        for r in range(n):
            qq, do = qs[r][:, qh], dos[r][:, qh]
            s = np.where(see[r], scale * qq @ kk.swapaxes(2, 3), np.float32(-np.inf))
            p = np.exp(s - lses[r][:, qh])
            delta = (do * outs[r][:, qh]).sum(3, keepdims=True)
            ds = scale * p * (do @ vv.swapaxes(2, 3) - delta)
            dq[r][:, qh] = ds @ kk
            dkv_buffer[r][0] += (ds.swapaxes(2, 3) @ qq).sum(1, keepdims=True)
            dkv_buffer[r][1] += (p.swapaxes(2, 3) @ do).sum(1, keepdims=True)
        total = sum(dkv_buffer)
        for r in range(n):
            dk[r][:, kh], dv[r][:, kh] = total[0][:, :, rows[r]], total[1][:, :, rows[r]]
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
