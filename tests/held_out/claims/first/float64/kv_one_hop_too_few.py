# Mistake: the forward ring takes N - 1 steps instead of N, so rank r never merges the block of rank r + 1.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=4, layout="contiguous", causal=False, window=None, cu_seqlens=None, seqlen=37, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float64", backward=True)
B, H, G, D, N = (CASE[x] for x in ("batch", "heads", "kv_heads", "head_dim", "ranks"))
SCALE = 1 / D ** 0.5


def grouped(x):
    return x.reshape(B, G, H // G, -1, x.shape[-1])


def forward(qs, ks, vs):
    m = [np.full(x.shape[:-1], -np.inf) for x in qs]
    l = [np.zeros(x.shape[:-1]) for x in qs]
    acc = [np.zeros_like(x) for x in qs]
    kb, vb = list(ks), list(vs)
    for step in range(N - 1):
        for r in range(N):
            s = SCALE * np.einsum("bcgqd,bckd->bcgqk", qs[r], kb[r])
            new = np.maximum(m[r], s.max(-1))
            p = np.exp(s - new[..., None])
            old = np.exp(m[r] - new)
            l[r] = old * l[r] + p.sum(-1)
            acc[r] = old[..., None] * acc[r] + np.einsum("bcgqk,bckd->bcgqd", p, vb[r])
            m[r] = new
        kb, vb = ring_shift(kb), ring_shift(vb)
    return [a / x[..., None] for a, x in zip(acc, l)], [(x + np.log(y))[..., None] for x, y in zip(m, l)]


def backward(qs, ks, vs, dos, outs, lses):
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    delta = [np.sum(o * g, -1, keepdims=True) for o, g in zip(outs, dos)]
    kb, vb = list(ks), list(vs)
    for step in range(N):
        for r in range(N):
            p = np.exp(SCALE * np.einsum("bcgqd,bckd->bcgqk", qs[r], kb[r]) - lses[r])
            ds = SCALE * p * (np.einsum("bcgqd,bckd->bcgqk", dos[r], vb[r]) - delta[r])
            dq[r] += np.einsum("bcgqk,bckd->bcgqd", ds, kb[r])
            dk[r] += np.einsum("bcgqk,bcgqd->bckd", ds, qs[r])
            dv[r] += np.einsum("bcgqk,bcgqd->bckd", p, dos[r])
        kb, vb, dk, dv = map(ring_shift, (kb, vb, dk, dv))
    return dq, dk, dv


def run(q, k, v, dout):
    rows = dealt(CASE)
    qs, dos = ([grouped(x) for x in scatter(y, rows)] for y in (q, dout))
    ks, vs = scatter(k, rows), scatter(v, rows)
    outs, lses = forward(qs, ks, vs)
    dq, dk, dv = backward(qs, ks, vs, dos, outs, lses)
    heads = lambda xs: gather([x.reshape(B, H, -1, x.shape[-1]) for x in xs], rows)
    return dict(out=heads(outs), lse=heads(lses), dq=heads(dq), dk=gather(dk, rows), dv=gather(dv, rows))
