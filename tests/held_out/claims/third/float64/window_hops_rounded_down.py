# Mistake: The ring makes window // shard hops (14 // 12 = 1) instead of ceil(window / shard) = 2, so the first two rows of ranks 2, 3 and 4 miss the keys of their window that lie two shards back, in the forward and in the backward pass.
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=5, layout="contiguous", causal=True, window=14, cu_seqlens=None, seqlen=60, heads=6, kv_heads=2,
            head_dim=8, batch=1, dtype="float64", backward=True)
SHARD = CASE["seqlen"] // CASE["ranks"]
HOPS = CASE["window"] // SHARD
SCALE = CASE["head_dim"] ** -0.5
KV_OF_HEAD = [h * CASE["kv_heads"] // CASE["heads"] for h in range(CASE["heads"])]


def ring(n, blocks):
    """Yields (rank, rank the block came from, block) in the order of a ring that stops once no window reaches further."""
    held = list(enumerate(blocks))
    for hop in range(HOPS + 1):
        for r in range(n):
            owner, block = held[r]
            if owner <= r:
                yield r, owner, block
        held = [held[r - 1] for r in range(n)]


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    m = [np.full(x.shape[:3], -np.inf) for x in qs]
    l = [np.zeros(x.shape[:3]) for x in qs]
    out = [np.zeros_like(x) for x in qs]
    for r, owner, (kb, vb) in ring(n, list(zip(ks, vs))):
        s = SCALE * np.einsum("bhqd,bhkd->bhqk", qs[r], kb[:, KV_OF_HEAD])
        s = np.where(visible(CASE, rows[r], rows[owner]), s, -np.inf)
        new = np.maximum(m[r], s.max(-1))
        p, keep = np.exp(s - new[..., None]), np.exp(m[r] - new)
        out[r] = keep[..., None] * out[r] + np.einsum("bhqk,bhkd->bhqd", p, vb[:, KV_OF_HEAD])
        l[r] = keep * l[r] + p.sum(-1)
        m[r] = new
    out = [o / x[..., None] for o, x in zip(out, l)]
    lse = [x + np.log(y) for x, y in zip(m, l)]

    dq = [np.zeros_like(x) for x in qs]
    dkv = [(np.zeros_like(a), np.zeros_like(b)) for a, b in zip(ks, vs)]  # travel with their blocks
    for r, owner, (kb, vb, (dk, dv)) in ring(n, list(zip(ks, vs, dkv))):
        see = visible(CASE, rows[r], rows[owner])
        delta = (out[r] * dos[r]).sum(-1)
        for h, g in enumerate(KV_OF_HEAD):
            s = SCALE * qs[r][:, h] @ kb[:, g].swapaxes(1, 2)
            p = np.where(see, np.exp(s - lse[r][:, h, :, None]), 0)
            ds = SCALE * p * (dos[r][:, h] @ vb[:, g].swapaxes(1, 2) - delta[:, h, :, None])
            dq[r][:, h] += ds @ kb[:, g]
            dk[:, g] += ds.swapaxes(1, 2) @ qs[r][:, h]
            dv[:, g] += p.swapaxes(1, 2) @ dos[r][:, h]
    dk, dv = zip(*dkv)
    return dict(out=gather(out, rows), lse=gather(lse, rows), dq=gather(dq, rows), dk=gather(dk, rows),
                dv=gather(dv, rows))
