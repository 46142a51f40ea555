# Mistake: A shard's first position is taken to be rank times that shard's own length, instead of the sum of the lengths of the shards before it, so the shorter last shard is masked as if it began 3 tokens earlier (forward and backward, as queries and as keys).
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=4, layout="contiguous", causal=True, window=9, cu_seqlens=None, seqlen=43, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float64", backward=True)


def place(rank, length):
    return rank * length + np.arange(length)


def mask(qrank, qlen, krank, klen):
    gap = place(qrank, qlen)[:, None] - place(krank, klen)[None, :]
    return (gap >= 0) & (gap <= CASE["window"])


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    group = CASE["heads"] // CASE["kv_heads"]
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    wide = lambda x: np.repeat(x, group, axis=1)
    narrow = lambda x: x.reshape(x.shape[0], -1, group, *x.shape[2:]).sum(2)
    m = [np.full(x.shape[:3] + (1,), -np.inf) for x in qs]
    l = [np.zeros_like(x) for x in m]
    acc = [np.zeros_like(x) for x in qs]
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            see = mask(r, qs[r].shape[2], (r - t) % n, kb[r].shape[2])
            s = np.where(see, scale * qs[r] @ wide(kb[r]).swapaxes(2, 3), -np.inf)
            new = np.maximum(m[r], s.max(3, keepdims=True))
            p, keep = np.exp(s - new), np.exp(m[r] - new)
            m[r], l[r], acc[r] = new, l[r] * keep + p.sum(3, keepdims=True), acc[r] * keep + p @ wide(vb[r])
        kb, vb = ring_shift(kb), ring_shift(vb)
    outs = [a / b for a, b in zip(acc, l)]
    lses = [a + np.log(b) for a, b in zip(m, l)]
    deltas = [(o * d).sum(3, keepdims=True) for o, d in zip(outs, dos)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    for t in range(n):
        for r in range(n):
            see = mask(r, qs[r].shape[2], (r - t) % n, kb[r].shape[2])
            p = np.exp(np.where(see, scale * qs[r] @ wide(kb[r]).swapaxes(2, 3), -np.inf) - lses[r])
            ds = scale * p * (dos[r] @ wide(vb[r]).swapaxes(2, 3) - deltas[r])
            dq[r] += ds @ wide(kb[r])
            dk[r] += narrow(ds.swapaxes(2, 3) @ qs[r])
            dv[r] += narrow(p.swapaxes(2, 3) @ dos[r])
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
