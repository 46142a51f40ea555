# Mistake: the mask takes the distance of the shards to be step * shard length without noticing that the ring wraps round: a block that comes from a later rank (src > rank) is treated as if it stood step shards before the queries, so the first ranks attend to window keys from the end of the sequence (future tokens), in forward and backward.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=5, layout="contiguous", causal=True, window=14, cu_seqlens=None, seqlen=60,
            heads=4, kv_heads=2, head_dim=8, batch=1, dtype="float64", backward=True)

N, S, W = CASE["ranks"], CASE["seqlen"], CASE["window"]
G = CASE["heads"] // CASE["kv_heads"]
SCALE = CASE["head_dim"] ** -0.5
ROWS = dealt(CASE)


def block_mask(r, src, t):
    """Causal sliding window between the rows of two contiguous shards."""
    distance = t * (S // N) + np.arange(len(ROWS[r]))[:, None] - np.arange(len(ROWS[src]))[None, :]
    return (distance >= 0) & (distance <= W)


def hops():
    """How far the ring must go: the largest distance between shards with a visible pair."""
    return max(t for t in range(N) for r in range(t, N) if block_mask(r, r - t, t).any())


def up(x):
    return np.repeat(x, G, axis=1)


def down(x):
    return np.add.reduceat(x, np.arange(0, x.shape[1], G), axis=1)


def run(q, k, v, dout):
    q, k, v, dout = [scatter(x, ROWS) for x in (q, k, v, dout)]
    last = hops()
    num = [np.zeros_like(x) for x in q]
    den = [np.zeros_like(x[..., :1]) for x in q]
    top = [np.full_like(x[..., :1], -np.inf) for x in q]
    kt, vt = k, v
    for t in range(last + 1):
        for r in range(N):
            src = (r - t) % N
            s = np.where(block_mask(r, src, t), SCALE * (q[r] @ up(kt[r]).swapaxes(-1, -2)), -np.inf)
            new = np.maximum(top[r], s.max(-1, keepdims=True))
            e, f = np.exp(s - new), np.exp(top[r] - new)
            num[r], den[r], top[r] = num[r] * f + e @ up(vt[r]), den[r] * f + e.sum(-1, keepdims=True), new
        if t < last:
            kt, vt = ring_shift(kt), ring_shift(vt)
    out = [a / b for a, b in zip(num, den)]
    lse = [a + np.log(b) for a, b in zip(top, den)]
    if not CASE["backward"]:
        return {"out": gather(out, ROWS), "lse": gather(lse, ROWS)}
    delta = [(a * b).sum(-1, keepdims=True) for a, b in zip(out, dout)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (q, k, v))
    kt, vt = k, v
    for t in range(last + 1):
        for r in range(N):
            src = (r - t) % N
            s = np.where(block_mask(r, src, t), SCALE * (q[r] @ up(kt[r]).swapaxes(-1, -2)), -np.inf)
            p = np.exp(s - lse[r])
            ds = SCALE * p * (dout[r] @ up(vt[r]).swapaxes(-1, -2) - delta[r])
            dq[r] += ds @ up(kt[r])
            dk[r] += down(ds.swapaxes(-1, -2) @ q[r])
            dv[r] += down(p.swapaxes(-1, -2) @ dout[r])
        if t < last:
            kt, vt, dk, dv = [ring_shift(x) for x in (kt, vt, dk, dv)]
    dk, dv = ring_shift(dk, -last), ring_shift(dv, -last)
    return {"out": gather(out, ROWS), "lse": gather(lse, ROWS), "dq": gather(dq, ROWS), "dk": gather(dk, ROWS),
            "dv": gather(dv, ROWS)}
