# Mistake: dq is dS times the keys that have arrived for the next step instead of the keys from which dS was computed.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=48, heads=6, kv_heads=2,
            head_dim=8, batch=1, dtype="bfloat16", backward=True)
N, SCALE = CASE["ranks"], CASE["head_dim"] ** -0.5


def forward(Q, K, V, rows):
    out, lse = [], []
    for r in range(N):
        pieces = []
        for t in range(N):
            j = (r - t) % N
            s = np.where(visible(CASE, rows[r], rows[j]), SCALE * np.einsum("bcgid,bcjd->bcgij", Q[r], K[j]), -np.inf)
            top = np.maximum(s.max(-1, keepdims=True), -1e3)
            e = np.exp(s - top)
            pieces.append((top, e.sum(-1, keepdims=True), np.einsum("bcgij,bcjd->bcgid", e, V[j])))
        m = np.max([p[0] for p in pieces], axis=0)
        l = sum(np.exp(a - m) * b for a, b, _ in pieces)
        out.append(sum(np.exp(a - m) * c for a, _, c in pieces) / l)
        lse.append(m + np.log(l))
    return out, lse


def run(q, k, v, dout):
    rows = dealt(CASE)
    fold = lambda x: x.reshape(x.shape[0], CASE["kv_heads"], -1, x.shape[2], x.shape[3])
    unfold = lambda x: x.reshape(x.shape[0], -1, x.shape[3], x.shape[4])
    Q, DO = [fold(x) for x in scatter(q, rows)], [fold(x) for x in scatter(dout, rows)]
    K, V = scatter(k, rows), scatter(v, rows)
    O, L = forward(Q, K, V, rows)
    delta = [np.einsum("bcgid,bcgid->bcgi", a, b)[..., None] for a, b in zip(O, DO)]

    DQ = [np.zeros_like(x) for x in Q]
    DK, DV = [np.zeros_like(x) for x in K], [np.zeros_like(x) for x in V]
    current = list(zip(K, V))
    for t in range(N):
        arriving = ring_shift(current)
        for r in range(N):
            kb, vb = current[r]
            see = visible(CASE, rows[r], rows[(r - t) % N])
            p = np.where(see, np.exp(SCALE * np.einsum("bcgid,bcjd->bcgij", Q[r], kb) - L[r]), 0)
            ds = SCALE * p * (np.einsum("bcgid,bcjd->bcgij", DO[r], vb) - delta[r])
            DV[r] += np.einsum("bcgij,bcgid->bcjd", p, DO[r])
            DK[r] += np.einsum("bcgij,bcgid->bcjd", ds, Q[r])
            DQ[r] += np.einsum("bcgij,bcjd->bcgid", ds, arriving[r][0])
        current, DK, DV = arriving, ring_shift(DK), ring_shift(DV)
    wide = lambda xs: gather([unfold(x) for x in xs], rows)
    return dict(out=wide(O), lse=wide(L), dq=wide(DQ), dk=gather(DK, rows), dv=gather(DV, rows))
