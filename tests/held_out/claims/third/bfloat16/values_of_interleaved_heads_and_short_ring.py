# Mistake: (1) The values of query head h are taken from KV head h % kv_heads instead of h // group (the keys from the right one). (2) The ring makes one step too few: the block of rank r + 1, which would come last, is never used, neither for out nor for lse.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=5, layout="striped", causal=False, window=None, cu_seqlens=None, seqlen=37, heads=6, kv_heads=3,
            head_dim=12, batch=1, dtype="bfloat16", backward=False)


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    heads, kv_heads = CASE["heads"], CASE["kv_heads"]
    group = heads // kv_heads
    qs, ks, vs = (scatter(x, rows) for x in (q, k, v))
    outs = [np.zeros_like(x) for x in qs]
    lses = [np.full(x.shape[:3] + (1,), -np.inf) for x in qs]
    for t in range(n - 1):
        for r in range(n):
            for h in range(heads):
                s = qs[r][:, h] @ ks[r][:, h // group].swapaxes(1, 2) * CASE["head_dim"] ** -0.5
                peak = s.max(2, keepdims=True)
                e = np.exp(s - peak)
                part = e.sum(2, keepdims=True)
                z = peak + np.log(part)
                o = e @ vs[r][:, h % kv_heads] / part
                lse = np.logaddexp(lses[r][:, h], z)
                outs[r][:, h] += (np.exp(lses[r][:, h] - lse) - 1) * outs[r][:, h] + np.exp(z - lse) * o
                lses[r][:, h] = lse
        ks, vs = ring_shift(ks), ring_shift(vs)
    return dict(out=gather(outs, rows), lse=gather(lses, rows))
