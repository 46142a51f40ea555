# Mistake: Shards shorter than the longest one are padded with rows of zeros for the ring, and the padding takes part as keys of score 0 and value 0, instead of being masked (forward and backward).
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=4, layout="contiguous", causal=False, window=None, cu_seqlens=None, seqlen=41, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="bfloat16", backward=True)


def pad(x, length):
    return np.pad(x, ((0, 0), (0, 0), (0, length - x.shape[2]), (0, 0)))


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    group = CASE["heads"] // CASE["kv_heads"]
    longest = max(map(len, rows))
    qs, dos = scatter(q, rows), scatter(dout, rows)
    ks, vs = ([pad(x, longest) for x in scatter(whole, rows)] for whole in (k, v))
    wide = lambda x: x.repeat(group, 1)
    narrow = lambda x: x.reshape(x.shape[0], -1, group, *x.shape[2:]).sum(2)
    m = [np.full(x.shape[:3] + (1,), -np.inf) for x in qs]
    l = [np.zeros_like(x) for x in m]
    acc = [np.zeros_like(x) for x in qs]
    kv = [np.stack(pair) for pair in zip(ks, vs)]
    for t in range(n):
        for r in range(n):
            kk, vv = wide(kv[r][0]), wide(kv[r][1])
            s = scale * qs[r] @ kk.swapaxes(2, 3)
            new = np.maximum(m[r], s.max(3, keepdims=True))
            p, keep = np.exp(s - new), np.exp(m[r] - new)
            m[r], l[r], acc[r] = new, l[r] * keep + p.sum(3, keepdims=True), acc[r] * keep + p @ vv
        kv = ring_shift(kv)
    outs = [a / b for a, b in zip(acc, l)]
    lses = [a + np.log(b) for a, b in zip(m, l)]
    dq, dkv = [np.zeros_like(x) for x in qs], [np.zeros_like(x) for x in kv]
    for t in range(n):
        for r in range(n):
            kk, vv = wide(kv[r][0]), wide(kv[r][1])
            p = np.exp(scale * qs[r] @ kk.swapaxes(2, 3) - lses[r])
            ds = scale * p * (dos[r] @ vv.swapaxes(2, 3) - (outs[r] * dos[r]).sum(3, keepdims=True))
            dq[r] += ds @ kk
            dkv[r][0] += narrow(ds.swapaxes(2, 3) @ qs[r])
            dkv[r][1] += narrow(p.swapaxes(2, 3) @ dos[r])
        kv, dkv = ring_shift(kv), ring_shift(dkv)
    dk, dv = ([x[i][:, :, :len(p)] for x, p in zip(dkv, rows)] for i in (0, 1))
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
