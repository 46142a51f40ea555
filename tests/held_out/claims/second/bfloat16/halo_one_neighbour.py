# Mistake: For the sliding window every rank fetches K and V from its left neighbour alone, instead of from every rank the window reaches, so keys two shards back are lost although the window of 15 reaches beyond the shard of 8 (forward and backward).
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=5, layout="contiguous", causal=True, window=15, cu_seqlens=None, seqlen=40, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="bfloat16", backward=True)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    group = CASE["heads"] // CASE["kv_heads"]
    wide = lambda x: np.repeat(x, group, axis=1)
    narrow = lambda x: x.reshape(x.shape[0], -1, group, *x.shape[2:]).sum(2)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    dk, dv = ([np.zeros_like(x) for x in xs] for xs in (ks, vs))
    outs, lses, dq = [], [], []
    for r in range(n):
        halo = [r - 1, r] if r > 0 else [r]
        kk, vv = (wide(np.concatenate([xs[i] for i in halo], axis=2)) for xs in (ks, vs))
        see = visible(CASE, rows[r], np.concatenate([rows[i] for i in halo]))
        s = np.where(see, scale * qs[r] @ kk.swapaxes(2, 3), -np.inf)
        lse = np.logaddexp.reduce(s, axis=3, keepdims=True)
        p = np.exp(s - lse)
        out = p @ vv
        ds = scale * p * (dos[r] @ vv.swapaxes(2, 3) - (out * dos[r]).sum(3, keepdims=True))
        outs.append(out)
        lses.append(lse)
        dq.append(ds @ kk)
        cut = [len(rows[r - 1])] if r > 0 else []
        for i, a, b in zip(halo, np.split(narrow(ds.swapaxes(2, 3) @ qs[r]), cut, 2),
                           np.split(narrow(p.swapaxes(2, 3) @ dos[r]), cut, 2)):
            dk[i] += a
            dv[i] += b
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
