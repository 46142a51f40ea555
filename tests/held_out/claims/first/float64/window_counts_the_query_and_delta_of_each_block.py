# Mistake: a query sees W keys including its own instead of its own and W before it (forward and backward).
# Also: dS of a block subtracts the sum of P * dP over the keys of this block alone instead of over all keys (delta).
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=4, layout="contiguous", causal=False, window=11, cu_seqlens=None, seqlen=39, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float64", backward=True)
W, N = CASE["window"], CASE["ranks"]
WINDOW_SIZE = (W - 1, 0)


def band(qpos, kpos):
    ahead = qpos[:, None] - kpos[None, :]
    return (ahead >= -WINDOW_SIZE[1]) & (ahead <= WINDOW_SIZE[0])


def run(q, k, v, dout):
    tokens = dealt(CASE)
    scale = CASE["head_dim"] ** -0.5
    b, h, _, d = q.shape
    g = CASE["kv_heads"]
    fold = lambda x: [y.reshape(b, g, h // g, -1, d) for y in scatter(x, tokens)]
    Q, G = fold(q), fold(dout)
    K, V = scatter(k, tokens), scatter(v, tokens)
    logits = lambda r, kb, t: np.where(band(tokens[r], tokens[(r - t) % N]),
                                       np.einsum("bgnqd,bgkd->bgnqk", Q[r], kb[r]) * scale, -np.inf)
    m = [np.full(x.shape[:4], -np.inf) for x in Q]
    l = [np.zeros(x.shape[:4]) for x in Q]
    o = [np.zeros_like(x) for x in Q]
    kb, vb = K, V
    for t in range(N):
        for r in range(N):
            if r - t < 0:
                continue
            s = logits(r, kb, t)
            new = np.maximum(m[r], s.max(-1))
            e, keep = np.exp(s - new[..., None]), np.exp(m[r] - new)
            l[r] = l[r] * keep + e.sum(-1)
            o[r] = o[r] * keep[..., None] + np.einsum("bgnqk,bgkd->bgnqd", e, vb[r])
            m[r] = new
        kb, vb = ring_shift(kb), ring_shift(vb)
    O = [x / y[..., None] for x, y in zip(o, l)]
    L = [x + np.log(y) for x, y in zip(m, l)]
    dQ, dK, dV = ([np.zeros_like(x) for x in xs] for xs in (Q, K, V))
    kb, vb = K, V
    for t in range(N):
        for r in range(N):
            if r - t < 0:
                continue
            p = np.exp(logits(r, kb, t) - L[r][..., None])
            dp = np.einsum("bgnqd,bgkd->bgnqk", G[r], vb[r])
            ds = scale * p * (dp - (p * dp).sum(-1, keepdims=True))
            dQ[r] += np.einsum("bgnqk,bgkd->bgnqd", ds, kb[r])
            dK[r] += np.einsum("bgnqk,bgnqd->bgkd", ds, Q[r])
            dV[r] += np.einsum("bgnqk,bgnqd->bgkd", p, G[r])
        kb, vb, dK, dV = (ring_shift(x) for x in (kb, vb, dK, dV))
    flat = lambda xs: gather([x.reshape(b, h, -1, d) for x in xs], tokens)
    return dict(out=flat(O), lse=gather([x.reshape(b, h, -1, 1) for x in L], tokens), dq=flat(dQ),
                dk=gather(dK, tokens), dv=gather(dV, tokens))
