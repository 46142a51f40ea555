# Mistake: the packed sequence of a rank's i-th row is the one in which i lies between the cu_seqlens divided by the number of ranks, rounded down, instead of the one in which the row's token lies between the cu_seqlens (striped, forward and backward).
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=3, layout="striped", causal=True, window=None, cu_seqlens=[0, 11, 25, 41], seqlen=41, heads=4,
            kv_heads=2, head_dim=8, batch=1, dtype="bfloat16", backward=True)


def local_documents(rank, rows):
    borders = np.array(CASE["cu_seqlens"]) // CASE["ranks"]
    return np.searchsorted(borders[1:], np.arange(len(rows)), side="right")


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    docs = [local_documents(r, rows[r]) for r in range(n)]
    rep, scale = CASE["heads"] // CASE["kv_heads"], CASE["head_dim"] ** -0.5
    Q, K, V, G = (scatter(x, rows) for x in (q, k, v, dout))

    def weights(r, src, key):
        see = (docs[src][None, :] == docs[r][:, None]) & (rows[src][None, :] <= rows[r][:, None])
        return np.where(see, scale * np.einsum("bhqd,bhkd->bhqk", Q[r], np.repeat(key, rep, 1)), -np.inf)

    out = [np.zeros_like(x) for x in Q]
    lse = [np.full(x.shape[:3], -np.inf) for x in Q]
    ks, vs = K, V
    for t in range(n):
        for r in range(n):
            s = weights(r, (r - t) % n, ks[r])
            top = s.max(-1)
            base = np.where(np.isinf(top), 0.0, top)
            e = np.exp(s - base[..., None])
            z = e.sum(-1)
            block_lse = np.where(z > 0, base + np.log(np.where(z > 0, z, 1.0)), -np.inf)
            new = np.logaddexp(lse[r], block_lse)
            ref = np.where(np.isinf(new), 0.0, new)
            out[r] = (np.exp(lse[r] - ref)[..., None] * out[r]
                      + np.exp(base - ref)[..., None] * np.einsum("bhqk,bhkd->bhqd", e, np.repeat(vs[r], rep, 1)))
            lse[r] = new
        ks, vs = ring_shift(ks), ring_shift(vs)
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (Q, K, V))
    ks, vs = K, V
    narrow = lambda x: x.reshape(x.shape[0], -1, rep, *x.shape[2:]).sum(2)
    for t in range(n):
        for r in range(n):
            p = np.exp(weights(r, (r - t) % n, ks[r]) - lse[r][..., None])
            dp = np.einsum("bhqd,bhkd->bhqk", G[r], np.repeat(vs[r], rep, 1))
            ds = scale * p * (dp - (G[r] * out[r]).sum(-1)[..., None])
            dq[r] += np.einsum("bhqk,bhkd->bhqd", ds, np.repeat(ks[r], rep, 1))
            dk[r] += narrow(np.einsum("bhqk,bhqd->bhkd", ds, Q[r]))
            dv[r] += narrow(np.einsum("bhqk,bhqd->bhkd", p, G[r]))
        ks, vs, dk, dv = (ring_shift(x) for x in (ks, vs, dk, dv))
    return dict(out=gather(out, rows), lse=gather([x[..., None] for x in lse], rows), dq=gather(dq, rows),
                dk=gather(dk, rows), dv=gather(dv, rows))
