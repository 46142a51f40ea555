# Mistake: In the two-way ring of 4 ranks the block of the opposite rank (distance 2) arrives from both sides in the last step and is counted twice, in the forward and in the backward pass.
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=4, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=58, heads=4, kv_heads=2,
            head_dim=4, batch=2, dtype="float32", backward=True)
GROUP, SCALE = CASE["heads"] // CASE["kv_heads"], CASE["head_dim"] ** -0.5


def meetings(n):
    """(rank, owner) in the order of a ring that sends half of the blocks clockwise and half the other way."""
    for r in range(n):
        yield r, r
    for t in range(1, n // 2 + 1):
        for r in range(n):
            yield r, (r - t) % n
            yield r, (r + t) % n


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    wide = lambda x: np.repeat(x, GROUP, axis=1)
    see = lambda r, b: visible(CASE, rows[r], rows[b])
    score = lambda r, b: np.where(see(r, b), SCALE * qs[r] @ wide(ks[b]).swapaxes(2, 3), np.float32(-np.inf))
    top = [np.full(x.shape[:3] + (1,), -1e30, np.float32) for x in qs]
    total = [np.zeros_like(x) for x in top]
    out = [np.zeros_like(x) for x in qs]
    for r, b in meetings(n):
        s = score(r, b)
        new = np.maximum(top[r], s.max(3, keepdims=True))
        e, shrink = np.exp(s - new), np.exp(top[r] - new)
        out[r] *= shrink
        out[r] += e @ wide(vs[b])
        total[r] = total[r] * shrink + e.sum(3, keepdims=True)
        top[r] = new
    lse = []
    for r in range(n):
        out[r] /= total[r]
        lse.append(top[r] + np.log(total[r]))
    delta = [(a * b).sum(3, keepdims=True) for a, b in zip(out, dos)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    for r, b in meetings(n):
        p = np.exp(score(r, b) - lse[r])
        ds = SCALE * p * (dos[r] @ wide(vs[b]).swapaxes(2, 3) - delta[r])
        dq[r] += ds @ wide(ks[b])
        for i in range(GROUP):
            dk[b] += (ds.swapaxes(2, 3) @ qs[r])[:, i::GROUP]
            dv[b] += (p.swapaxes(2, 3) @ dos[r])[:, i::GROUP]
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (out, lse, dq, dk, dv))))
