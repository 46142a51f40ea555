# Mistake: the zigzag ring takes the branch "all queries on the early half of the block" for steps below the rank instead of up to the rank, so the block of rank 0 gets the branch "late queries on the whole block" (forward and backward).
import numpy as np

from case import dealt, gather, halves, scatter

CASE = dict(ranks=4, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=51, heads=4, kv_heads=4,
            head_dim=8, batch=2, dtype="float64", backward=True)
N, D = CASE["ranks"], CASE["head_dim"]
HALF = halves(CASE)


def plan(rank, step):
    """Slices of the queries and of the keys, and whether the block is causal in itself."""
    everything = slice(None)
    if step == 0:
        return everything, everything, True
    if step < rank:
        return everything, slice(0, HALF[(rank - step) % N]), False
    return slice(HALF[rank], None), everything, False


def weights(q, k, causal):
    s = np.matmul(q, np.swapaxes(k, 2, 3)) / np.sqrt(D)
    if causal:
        s = np.where(np.arange(s.shape[2])[:, None] >= np.arange(s.shape[3]), s, -np.inf)
    return s


def run(q, k, v, dout):
    rows = dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    outs, lses = [np.zeros_like(x) for x in qs], [np.full(x.shape[:3] + (1,), -np.inf) for x in qs]
    for step in range(N):
        for rank in range(N):
            src = (rank - step) % N
            qi, ki, causal = plan(rank, step)
            s = weights(qs[rank][:, :, qi], ks[src][:, :, ki], causal)
            top = s.max(3, keepdims=True)
            e = np.exp(s - top)
            part = e @ vs[src][:, :, ki] / e.sum(3, keepdims=True)
            part_lse = top + np.log(e.sum(3, keepdims=True))
            old, old_lse = outs[rank][:, :, qi], lses[rank][:, :, qi]
            lse = np.logaddexp(old_lse, part_lse)
            outs[rank][:, :, qi] = old * np.exp(old_lse - lse) + part * np.exp(part_lse - lse)
            lses[rank][:, :, qi] = lse

    delta = [(a * b).sum(3, keepdims=True) for a, b in zip(outs, dos)]
    dqs = [np.zeros_like(x) for x in qs]
    travelling = [(np.zeros_like(a), np.zeros_like(b)) for a, b in zip(ks, vs)]
    for step in range(N):
        for rank in range(N):
            src = (rank - step) % N
            qi, ki, causal = plan(rank, step)
            kk, vv, qq, gg = ks[src][:, :, ki], vs[src][:, :, ki], qs[rank][:, :, qi], dos[rank][:, :, qi]
            p = np.exp(weights(qq, kk, causal) - lses[rank][:, :, qi])
            ds = p * (gg @ np.swapaxes(vv, 2, 3) - delta[rank][:, :, qi]) / np.sqrt(D)
            dqs[rank][:, :, qi] += ds @ kk
            travelling[rank][0][:, :, ki] += np.swapaxes(ds, 2, 3) @ qq
            travelling[rank][1][:, :, ki] += np.swapaxes(p, 2, 3) @ gg
        travelling = travelling[-1:] + travelling[:-1]
    dks, dvs = zip(*travelling)
    return dict(out=gather(outs, rows), lse=gather(lses, rows), dq=gather(dqs, rows), dk=gather(dks, rows), dv=gather(dvs, rows))
