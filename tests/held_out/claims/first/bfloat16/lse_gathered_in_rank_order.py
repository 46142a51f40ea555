# Mistake: the returned lse is the concatenation of the ranks' rows, rank after rank, instead of being put back into the order of the sequence; everything else is.
import numpy as np

from case import dealt, scatter, visible

CASE = dict(ranks=3, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=47, heads=2, kv_heads=1,
            head_dim=16, batch=1, dtype="bfloat16", backward=True)
N, SCALE = CASE["ranks"], 0.25


def gather_rows(shards, order):
    joined = np.concatenate(shards, axis=2)
    return joined[:, :, np.argsort(order)]


def run(q, k, v, dout):
    rows = dealt(CASE)
    order = np.concatenate(rows)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    see = [[visible(CASE, rows[i], rows[j]) for j in range(N)] for i in range(N)]
    outs, lses, dqs = [], [], []
    dks, dvs = [np.zeros_like(x) for x in ks], [np.zeros_like(x) for x in vs]
    for i in range(N):
        best = np.full(qs[i].shape[:3] + (1,), -1e300)
        norm, acc = 0 * best, 0 * qs[i]
        for t in range(N):
            j = (i - t) % N
            s = np.where(see[i][j], SCALE * qs[i] @ ks[j].swapaxes(2, 3), -np.inf)
            higher = np.maximum(best, s.max(3, keepdims=True))
            e = np.exp(s - higher)
            norm = norm * np.exp(best - higher) + e.sum(3, keepdims=True)
            acc = acc * np.exp(best - higher) + e @ vs[j]
            best = higher
        outs.append(acc / norm)
        lses.append(best + np.log(norm))
    for i in range(N):
        delta = (outs[i] * dos[i]).sum(3, keepdims=True)
        dqs.append(np.zeros_like(qs[i]))
        for t in range(N):
            j = (i - t) % N
            p = np.where(see[i][j], np.exp(SCALE * qs[i] @ ks[j].swapaxes(2, 3) - lses[i]), 0)
            ds = SCALE * p * (dos[i] @ vs[j].swapaxes(2, 3) - delta)
            dqs[i] += ds @ ks[j]
            dks[j] += np.einsum("bhqk,bhqd->bkd", ds, qs[i])[:, None]
            dvs[j] += np.einsum("bhqk,bhqd->bkd", p, dos[i])[:, None]
    return dict(out=gather_rows(outs, order), lse=np.concatenate(lses, axis=2),
                dq=gather_rows(dqs, order), dk=gather_rows(dks, order), dv=gather_rows(dvs, order))
