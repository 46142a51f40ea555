# Mistake: dk and dv of the query heads are added up as reshape(group, kv_heads).sum(group), heads h and h + kv_heads together, instead of the neighbouring heads of a group that read the same KV head.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=3, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=40, heads=6, kv_heads=2,
            head_dim=8, batch=1, dtype="float64", backward=True)
N, H, KV = CASE["ranks"], CASE["heads"], CASE["kv_heads"]
SCALE = CASE["head_dim"] ** -0.5


def reduce_heads(x):
    b, _, s, d = x.shape
    return x.reshape(b, H // KV, KV, s, d).sum(axis=1)


def probs(q, k, see, base):
    return np.where(see, np.exp(np.minimum(SCALE * q @ k.swapaxes(2, 3) - base, 700)), 0)


def run(q, k, v, dout):
    rows = dealt(CASE)
    qs, dos = scatter(q, rows), scatter(dout, rows)
    own = [(a.repeat(H // KV, 1), b.repeat(H // KV, 1)) for a, b in zip(scatter(k, rows), scatter(v, rows))]

    # numerator and denominator, relative to the maximum that has been seen so far
    num, den = [np.zeros_like(x) for x in qs], [np.zeros(x.shape[:3] + (1,)) for x in qs]
    top = [np.full(x.shape[:3] + (1,), -np.inf) for x in qs]
    blocks = own
    for t in range(N):
        for r in range(N):
            kb, vb = blocks[r]
            see = visible(CASE, rows[r], rows[(r - t) % N])
            here = np.where(see, SCALE * qs[r] @ kb.swapaxes(2, 3), -np.inf).max(3, keepdims=True)
            now = np.maximum(top[r], here)
            ref = np.where(np.isinf(now), 0, now)
            p, f = probs(qs[r], kb, see, ref), np.exp(top[r] - ref)
            num[r], den[r], top[r] = f * num[r] + p @ vb, f * den[r] + p.sum(3, keepdims=True), now
        blocks = ring_shift(blocks)
    outs, lses = [a / b for a, b in zip(num, den)], [a + np.log(b) for a, b in zip(top, den)]

    dqs = [np.zeros_like(x) for x in qs]
    sums = [[np.zeros_like(x[0]), np.zeros_like(x[1])] for x in own]
    for t in range(N):
        for r in range(N):
            kb, vb = blocks[r]
            p = probs(qs[r], kb, visible(CASE, rows[r], rows[(r - t) % N]), lses[r])
            ds = SCALE * p * (dos[r] @ vb.swapaxes(2, 3) - (outs[r] * dos[r]).sum(3, keepdims=True))
            dqs[r] += ds @ kb
            sums[r][0] += ds.swapaxes(2, 3) @ qs[r]
            sums[r][1] += p.swapaxes(2, 3) @ dos[r]
        blocks, sums = ring_shift(blocks), ring_shift(sums)
    dks, dvs = [reduce_heads(x[0]) for x in sums], [reduce_heads(x[1]) for x in sums]
    return dict(out=gather(outs, rows), lse=gather(lses, rows), dq=gather(dqs, rows), dk=gather(dks, rows), dv=gather(dvs, rows))
