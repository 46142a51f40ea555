# Mistake: the forward ring multiplies its queries by the softmax scale in place at every block that it computes, instead of once, so that the block of the t-th step has scores with scale^(t+1).
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=4, layout="contiguous", causal=True, window=None, cu_seqlens=None, seqlen=39, heads=4, kv_heads=4,
            head_dim=4, batch=1, dtype="float32", backward=True)
N, SCALE = CASE["ranks"], 0.5


def fused(q, k, v, causal):
    q *= SCALE
    s = q @ k.swapaxes(-1, -2)
    if causal:
        s[..., np.triu(np.ones(s.shape[-2:], bool), 1)] = -np.inf
    top = np.max(s, axis=-1, keepdims=True)
    e = np.exp(s - top)
    l = np.sum(e, axis=-1, keepdims=True)
    return e @ v / l, top + np.log(l)


def fused_backward(q, k, v, do, o, lse, causal):
    s = SCALE * q @ k.swapaxes(-1, -2)
    if causal:
        s[..., np.triu(np.ones(s.shape[-2:], bool), 1)] = -np.inf
    p = np.exp(s - lse)
    ds = SCALE * p * (do @ v.swapaxes(-1, -2) - (do * o).sum(-1, keepdims=True))
    return ds @ k, ds.swapaxes(-1, -2) @ q, p.swapaxes(-1, -2) @ do


def run(q, k, v, dout):
    rows = dealt(CASE)
    ks, vs = scatter(k, rows), scatter(v, rows)
    work, outs, lses = scatter(q, rows), [None] * N, [None] * N
    blocks = list(zip(ks, vs))
    for step in range(N):
        for r in range(step, N):
            o, e = fused(work[r], *blocks[r], causal=step == 0)
            if step:
                ratio = np.exp(e - np.logaddexp(lses[r], e))
                o, e = outs[r] + ratio * (o - outs[r]), np.logaddexp(lses[r], e)
            outs[r], lses[r] = o, e
        blocks = ring_shift(blocks)

    qs, dos = scatter(q, rows), scatter(dout, rows)
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    for step in range(N):
        for r in range(step, N):
            a, b, c = fused_backward(qs[r], *blocks[r], dos[r], outs[r], lses[r], causal=step == 0)
            dq[r] += a
            dk[r] += b
            dv[r] += c
        blocks, dk, dv = ring_shift(blocks), ring_shift(dk), ring_shift(dv)
    return dict(out=gather(outs, rows), lse=gather(lses, rows), dq=gather(dq, rows), dk=gather(dk, rows), dv=gather(dv, rows))
