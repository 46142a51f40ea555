# Mistake: The reduce-scatter of dk and dv hands rank r the sequence chunks 2r and 2r + 1, instead of its zigzag chunks r and 2 * ranks - 1 - r.
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=3, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=36, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float64", backward=True)


def all_gather_sequence(parts, n):
    """Zigzag parts of the ranks to the chunks in the order of the sequence."""
    chunks = [None] * (2 * n)
    for r, x in enumerate(parts):
        chunks[r], chunks[2 * n - 1 - r] = np.split(x, 2, axis=2)
    return np.concatenate(chunks, axis=2)


def reduce_scatter_sequence(wholes, n):
    chunks = np.split(sum(wholes), 2 * n, axis=2)
    return [np.concatenate(chunks[2 * r:2 * r + 2], axis=2) for r in range(n)]


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    group = CASE["heads"] // CASE["kv_heads"]
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    every = np.arange(CASE["seqlen"])
    outs, lses, dq, dk_whole, dv_whole = [], [], [], [], []
    for r in range(n):
        kk = np.repeat(all_gather_sequence(ks, n), group, axis=1)
        vv = np.repeat(all_gather_sequence(vs, n), group, axis=1)
        s = np.where(visible(CASE, rows[r], every), scale * qs[r] @ kk.swapaxes(2, 3), -np.inf)
        top = s.max(3, keepdims=True)
        p = np.exp(s - top)
        l = p.sum(3, keepdims=True)
        p /= l
        out = p @ vv
        delta = (out * dos[r]).sum(3, keepdims=True)
        ds = scale * p * (dos[r] @ vv.swapaxes(2, 3) - delta)
        outs.append(out)
        lses.append(top + np.log(l))
        dq.append(ds @ kk)
        fold = lambda x: x.reshape(x.shape[0], -1, group, *x.shape[2:]).sum(2)
        dk_whole.append(fold(ds.swapaxes(2, 3) @ qs[r]))
        dv_whole.append(fold(p.swapaxes(2, 3) @ dos[r]))
    dk, dv = reduce_scatter_sequence(dk_whole, n), reduce_scatter_sequence(dv_whole, n)
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
