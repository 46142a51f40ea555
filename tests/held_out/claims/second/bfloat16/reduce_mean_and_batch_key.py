# Mistake: Two mistakes: the reduce-scatter of dk and dv averages the contributions of the ranks instead of summing them; and dq of every batch item multiplies its score gradients by the gathered K of batch item 0 instead of by the K of its own item.
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=3, layout="contiguous", causal=True, window=None, cu_seqlens=None, seqlen=35, heads=4, kv_heads=2,
            head_dim=8, batch=2, dtype="bfloat16", backward=True)


def all_gather(parts):
    return np.concatenate(parts, axis=2)


def reduce_scatter(wholes, rows):
    total = np.mean(wholes, axis=0)
    return [total[:, :, p] for p in rows]


def run(q, k, v, dout):
    rows, scale = dealt(CASE), CASE["head_dim"] ** -0.5
    group = CASE["heads"] // CASE["kv_heads"]
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    outs, lses, dq, dks, dvs = [], [], [], [], []
    for r, mine in enumerate(rows):
        kk, vv = (np.repeat(all_gather(x), group, axis=1) for x in (ks, vs))
        see = visible(CASE, mine, np.concatenate(rows))
        s = np.where(see, scale * qs[r] @ kk.swapaxes(2, 3), -np.inf)
        lse = np.logaddexp.reduce(s, axis=3, keepdims=True)
        p = np.exp(s - lse)
        out = p @ vv
        ds = scale * p * (dos[r] @ vv.swapaxes(2, 3) - (out * dos[r]).sum(3, keepdims=True))
        fold = lambda x: x.reshape(x.shape[0], -1, group, *x.shape[2:]).sum(2)
        outs.append(out)
        lses.append(lse)
        dq.append(ds @ kk[0])
        dks.append(fold(ds.swapaxes(2, 3) @ qs[r]))
        dvs.append(fold(p.swapaxes(2, 3) @ dos[r]))
    dk, dv = reduce_scatter(dks, rows), reduce_scatter(dvs, rows)
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
