# Mistake: The mask takes the positions of rank r's rows as r * ceil(seqlen / ranks) + row, although the shards are cut as array_split does (8, 8, 8, 7, 7, 7 tokens); so on ranks 4 and 5 the borders of the packed sequences fall on wrong tokens, in the forward and in the backward pass.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=6, layout="contiguous", causal=True, window=None, cu_seqlens=[0, 13, 30, 36, 45], seqlen=45, heads=4,
            kv_heads=2, head_dim=8, batch=1, dtype="float64", backward=True)
N, S = CASE["ranks"], CASE["seqlen"]
GROUP, SCALE = CASE["heads"] // CASE["kv_heads"], CASE["head_dim"] ** -0.5


def start_of(rank):
    return rank * -(-S // N)


def mask(r, n_q, owner, n_k):
    qpos, kpos = start_of(r) + np.arange(n_q), start_of(owner) + np.arange(n_k)
    document = lambda pos: np.searchsorted(CASE["cu_seqlens"], pos, side="right")
    return (document(qpos)[:, None] == document(kpos)[None]) & (kpos[None] <= qpos[:, None])


def grouped(x):
    """[b, h, s, d] -> [b, kv heads, group, s, d]"""
    return x.reshape(x.shape[0], -1, GROUP, *x.shape[2:])


def run(q, k, v, dout):
    rows = dealt(CASE)
    qs, dos = ([grouped(x) for x in scatter(y, rows)] for y in (q, dout))
    ks, vs = scatter(k, rows), scatter(v, rows)
    acc = [np.zeros_like(x) for x in qs]
    m = [np.full(x.shape[:-1], -np.inf) for x in qs]
    l = [np.zeros(x.shape[:-1]) for x in qs]
    kb, vb = ks, vs
    for t in range(N):
        for r in range(N):
            see = mask(r, qs[r].shape[3], (r - t) % N, kb[r].shape[2])
            s = np.where(see, SCALE * np.einsum("bgnqd,bgkd->bgnqk", qs[r], kb[r]), -np.inf)
            new = np.maximum(m[r], s.max(-1))
            safe = np.where(np.isinf(new), 0, new)
            p, keep = np.exp(s - safe[..., None]), np.exp(m[r] - safe)
            m[r], l[r] = new, l[r] * keep + p.sum(-1)
            acc[r] = acc[r] * keep[..., None] + np.einsum("bgnqk,bgkd->bgnqd", p, vb[r])
        kb, vb = ring_shift(kb), ring_shift(vb)
    out = [a / x[..., None] for a, x in zip(acc, l)]
    lse = [x + np.log(y) for x, y in zip(m, l)]
    delta = [(o * d).sum(-1) for o, d in zip(out, dos)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    kb, vb = ks, vs
    for t in range(N):
        for r in range(N):
            see = mask(r, qs[r].shape[3], (r - t) % N, kb[r].shape[2])
            p = np.where(see, np.exp(SCALE * np.einsum("bgnqd,bgkd->bgnqk", qs[r], kb[r]) - lse[r][..., None]), 0)
            ds = SCALE * p * (np.einsum("bgnqd,bgkd->bgnqk", dos[r], vb[r]) - delta[r][..., None])
            dq[r] += np.einsum("bgnqk,bgkd->bgnqd", ds, kb[r])
            dk[r] += np.einsum("bgnqk,bgnqd->bgkd", ds, qs[r])
            dv[r] += np.einsum("bgnqk,bgnqd->bgkd", p, dos[r])
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    flat = lambda xs: gather([x.reshape(x.shape[0], -1, *x.shape[3:]) for x in xs], rows)
    return dict(out=flat(out), lse=flat(lse), dq=flat(dq), dk=gather(dk, rows), dv=gather(dv, rows))
