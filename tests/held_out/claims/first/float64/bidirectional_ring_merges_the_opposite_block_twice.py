# Mistake: in the forward pass blocks walk both ways at once, and with an even number of ranks the block of the opposite rank, which arrives from both sides, is merged twice instead of once.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=4, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=45, heads=6, kv_heads=2,
            head_dim=8, batch=1, dtype="float64", backward=True)


def run(q, k, v, dout):
    N, pos = CASE["ranks"], dealt(CASE)
    g, c = CASE["heads"] // CASE["kv_heads"], 1 / np.sqrt(CASE["head_dim"])
    Q, K, V, G = (scatter(x, pos) for x in (q, k, v, dout))

    def scores(r, keys, src):
        s = c * np.matmul(Q[r], np.repeat(keys, g, 1).transpose(0, 1, 3, 2))
        return np.where(pos[src][None, :] <= pos[r][:, None], s, -np.inf)

    num = [np.zeros_like(x) for x in Q]
    den = [np.zeros(x.shape[:3] + (1,)) for x in Q]
    top = [np.full(x.shape[:3] + (1,), -np.inf) for x in Q]

    def take(r, keys, values, src):
        s = scores(r, keys, src)
        new = np.maximum(top[r], s.max(-1, keepdims=True))
        ok = np.isfinite(new)
        base = np.where(ok, new, 0.0)
        e, keep = np.exp(s - base), np.exp(top[r] - base)
        num[r] = num[r] * keep + e @ np.repeat(values, g, 1)
        den[r] = den[r] * keep + e.sum(-1, keepdims=True)
        top[r] = new

    east, west = list(zip(K, V)), list(zip(K, V))
    for r in range(N):
        take(r, *east[r], r)
    for hop in range(1, N // 2 + 1):
        east, west = ring_shift(east, 1), ring_shift(west, -1)
        for r in range(N):
            take(r, *east[r], (r - hop) % N)
            if hop <= N // 2:
                take(r, *west[r], (r + hop) % N)
    out = [a / b for a, b in zip(num, den)]
    lse = [a + np.log(b) for a, b in zip(top, den)]

    delta = [(a * b).sum(-1, keepdims=True) for a, b in zip(out, G)]
    dq = [np.zeros_like(x) for x in Q]
    parcel = [(K[r], V[r], np.zeros_like(K[r]), np.zeros_like(V[r])) for r in range(N)]
    for t in range(N):
        for r in range(N):
            kk, vv, gk, gv = parcel[r]
            p = np.exp(scores(r, kk, (r - t) % N) - lse[r])
            ds = c * p * (G[r] @ np.repeat(vv, g, 1).transpose(0, 1, 3, 2) - delta[r])
            dq[r] += ds @ np.repeat(kk, g, 1)
            b, _, n, d = kk.shape
            gk = gk + (ds.transpose(0, 1, 3, 2) @ Q[r]).reshape(b, -1, g, n, d).sum(2)
            gv = gv + (p.transpose(0, 1, 3, 2) @ G[r]).reshape(b, -1, g, n, d).sum(2)
            parcel[r] = kk, vv, gk, gv
        parcel = ring_shift(parcel)
    return dict(out=gather(out, pos), lse=gather(lse, pos), dq=gather(dq, pos),
                dk=gather([x[2] for x in parcel], pos), dv=gather([x[3] for x in parcel], pos))
