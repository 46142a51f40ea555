# Mistake: the backward lets q, dout, dq and delta travel and keeps k and v in their places, to save traffic; lse was left
# out of what travels, so each rank exponentiates with the lse of its own rows.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=64, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float32", backward=True)
G = CASE["heads"] // CASE["kv_heads"]
SC = np.float32(CASE["head_dim"] ** -0.5)


def grouped(x):
    return x.reshape(x.shape[0], CASE["kv_heads"], G, *x.shape[2:])


def plain(x):
    return x.reshape(x.shape[0], CASE["heads"], *x.shape[3:])


def scores(q, k, see):
    return np.where(see, np.einsum("bngqd,bnkd->bngqk", q, k) * SC, np.float32(-np.inf))


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    qs, dos = ([grouped(x) for x in scatter(y, rows)] for y in (q, dout))
    ks, vs = scatter(k, rows), scatter(v, rows)
    outs, lses = [], []
    for r in range(n):
        o, l = np.float32(0), np.float32(-np.inf)
        for t in range(n):
            s = scores(qs[r], ks[r - t], visible(CASE, rows[r], rows[r - t]))
            bl = np.logaddexp.reduce(s, axis=4, keepdims=True)
            new = np.logaddexp(l, bl)
            o, l = o * np.exp(l - new) + np.einsum("bngqk,bnkd->bngqd", np.exp(s - new), vs[r - t]), new
        outs.append(o)
        lses.append(l)
    deltas = [(a * b).sum(4, keepdims=True) for a, b in zip(outs, dos)]
    dk, dv = [np.zeros_like(x) for x in ks], [np.zeros_like(x) for x in vs]
    tq, tdo, tdelta, tdq, tlse = qs, dos, deltas, [np.zeros_like(x) for x in qs], lses
    for t in range(n):
        for r in range(n):
            p = np.exp(scores(tq[r], ks[r], visible(CASE, rows[(r - t) % n], rows[r])) - tlse[r])
            ds = SC * p * (np.einsum("bngqd,bnkd->bngqk", tdo[r], vs[r]) - tdelta[r])
            tdq[r] = tdq[r] + np.einsum("bngqk,bnkd->bngqd", ds, ks[r])
            dk[r] += np.einsum("bngqk,bngqd->bnkd", ds, tq[r])
            dv[r] += np.einsum("bngqk,bngqd->bnkd", p, tdo[r])
        tq, tdo, tdelta, tdq = (ring_shift(x) for x in (tq, tdo, tdelta, tdq))
    return dict(out=gather([plain(x) for x in outs], rows), lse=gather([plain(x) for x in lses], rows),
                dq=gather([plain(x) for x in tdq], rows), dk=gather(dk, rows), dv=gather(dv, rows))
