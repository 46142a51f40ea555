# Mistake: the kernel of dk and dv computes scores as [keys, queries] but masks them with the [queries, keys] mask untransposed; out and dq are right.
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=4, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=40, heads=2, kv_heads=1,
            head_dim=8, batch=2, dtype="float64", backward=True)
N, SCALE = CASE["ranks"], CASE["head_dim"] ** -0.5


def dq_kernel(q, k, v, do, lse, delta, see):
    p = np.where(see, np.exp(SCALE * q @ k.T - lse), 0)
    return SCALE * (p * (do @ v.T - delta)) @ k


def dkv_kernel(q, k, v, do, lse, delta, see):
    st = SCALE * k @ q.T
    pt = np.where(see, np.exp(st - lse.T), 0)
    dst = pt * (v @ do.T - delta.T)
    return SCALE * dst @ q, pt @ do


def run(q, k, v, dout):
    rows = dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    outs, lses = [np.zeros_like(x) for x in qs], [np.zeros(x.shape[:3] + (1,)) for x in qs]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    for r in range(N):
        for b in range(CASE["batch"]):
            for h in range(CASE["heads"]):
                m, l, acc = np.full((len(rows[r]), 1), -np.inf), 0, 0
                for t in range(N):
                    j = (r - t) % N
                    s = np.where(visible(CASE, rows[r], rows[j]), SCALE * qs[r][b, h] @ ks[j][b, 0].T, -np.inf)
                    new = np.maximum(m, s.max(1, keepdims=True))
                    e, old = np.exp(s - new), np.exp(m - new)
                    m, l, acc = new, l * old + e.sum(1, keepdims=True), acc * old + e @ vs[j][b, 0]
                outs[r][b, h], lses[r][b, h] = acc / l, m + np.log(l)
    for t in range(N):
        for r in range(N):
            j = (r - t) % N
            see = visible(CASE, rows[r], rows[j])
            for b in range(CASE["batch"]):
                for h in range(CASE["heads"]):
                    delta = (outs[r][b, h] * dos[r][b, h]).sum(1, keepdims=True)
                    given = (qs[r][b, h], ks[j][b, 0], vs[j][b, 0], dos[r][b, h], lses[r][b, h], delta, see)
                    dq[r][b, h] += dq_kernel(*given)
                    a, c = dkv_kernel(*given)
                    dk[j][b, 0] += a
                    dv[j][b, 0] += c
    return dict(out=gather(outs, rows), lse=gather(lses, rows), dq=gather(dq, rows), dk=gather(dk, rows), dv=gather(dv, rows))
