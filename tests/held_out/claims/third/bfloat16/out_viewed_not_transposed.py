# Mistake: Each rank computes out as [batch, rows, heads, head_dim] and returns it as [batch, heads, rows, head_dim] with a reshape instead of a transpose, so rows and heads are mixed within each rank; lse is transposed rightly.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=3, layout="contiguous", causal=True, window=16, cu_seqlens=None, seqlen=44, heads=4, kv_heads=2,
            head_dim=16, batch=2, dtype="bfloat16", backward=False)


def rows_first(shards):
    return [x.transpose(0, 2, 1, 3) for x in shards]


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    heads, group = CASE["heads"], CASE["heads"] // CASE["kv_heads"]
    qs, ks, vs = (rows_first(scatter(x.astype(np.float32), rows)) for x in (q, k, v))
    o = [np.zeros(x.shape, np.float32) for x in qs]
    l = [np.zeros(x.shape[:3], np.float32) for x in qs]
    m = [np.full(x.shape[:3], -1e30, np.float32) for x in qs]
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            if see.any():
                s = np.einsum("bqhd,bkhd->bqhk", qs[r], np.repeat(ks[r], group, 2)) * np.float32(CASE["head_dim"] ** -0.5)
                s = np.where(see[None, :, None, :], s, np.float32(-np.inf))
                new = np.maximum(m[r], s.max(3))
                p, keep = np.exp(s - new[..., None]), np.exp(m[r] - new)
                o[r] = o[r] * keep[..., None] + np.einsum("bqhk,bkhd->bqhd", p, np.repeat(vs[r], group, 2))
                l[r] = l[r] * keep + p.sum(3)
                m[r] = new
        ks, vs = ring_shift(ks), ring_shift(vs)
    o = [x / y[..., None] for x, y in zip(o, l)]
    heads_first = [x.reshape(x.shape[0], heads, -1, x.shape[3]) for x in o]
    lse = [(x + np.log(y)).transpose(0, 2, 1) for x, y in zip(m, l)]
    return dict(out=gather(heads_first, rows), lse=gather(lse, rows))
