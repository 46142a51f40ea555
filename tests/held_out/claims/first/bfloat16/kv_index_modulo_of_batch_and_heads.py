# Mistake: with batch and heads in one dimension, query entry b * heads + h reads KV entry (b * heads + h) mod (batch * kv_heads) instead of (b * heads + h) / group (forward and backward), which also mixes batch entries.
import numpy as np

from case import dealt, gather, scatter

CASE = dict(ranks=3, layout="contiguous", causal=False, window=None, cu_seqlens=None, seqlen=35, heads=4, kv_heads=2,
            head_dim=16, batch=2, dtype="bfloat16", backward=True)
N = CASE["ranks"]
BH, BC = CASE["batch"] * CASE["heads"], CASE["batch"] * CASE["kv_heads"]


def kv_of(i):
    return i % BC


def run(q, k, v, dout):
    rows, scale = dealt(CASE), 1 / np.sqrt(CASE["head_dim"])
    flat = lambda x: x.reshape((-1,) + x.shape[2:])
    qs, ks, vs, dos = ([flat(x) for x in scatter(y, rows)] for y in (q, k, v, dout))
    outs, lses, dqs = ([None] * N for _ in range(3))
    for r in range(N):
        outs[r] = np.zeros_like(qs[r])
        lses[r] = np.full(qs[r].shape[:2] + (1,), -np.inf)
        for t in range(N):
            src = (r - t) % N
            for i in range(BH):
                s = scale * qs[r][i] @ ks[src][kv_of(i)].T
                part = np.log(np.exp(s).sum(1, keepdims=True))
                value = np.exp(s - part) @ vs[src][kv_of(i)]
                total = np.logaddexp(lses[r][i], part)
                outs[r][i] = outs[r][i] * np.exp(lses[r][i] - total) + value * np.exp(part - total)
                lses[r][i] = total
    dks, dvs = [np.zeros_like(x) for x in ks], [np.zeros_like(x) for x in vs]
    for r in range(N):
        dqs[r] = np.zeros_like(qs[r])
        for t in range(N):
            src = (r - t) % N
            for i in range(BH):
                c = kv_of(i)
                p = np.exp(scale * qs[r][i] @ ks[src][c].T - lses[r][i])
                delta = np.sum(outs[r][i] * dos[r][i], axis=1, keepdims=True)
                ds = scale * p * (dos[r][i] @ vs[src][c].T - delta)
                dqs[r][i] += ds @ ks[src][c]
                dks[src][c] += ds.T @ qs[r][i]
                dvs[src][c] += p.T @ dos[r][i]
    back = lambda xs, heads: gather([x.reshape((CASE["batch"], heads) + x.shape[1:]) for x in xs], rows)
    return dict(out=back(outs, 4), lse=back(lses, 4), dq=back(dqs, 4), dk=back(dks, 2), dv=back(dvs, 2))
