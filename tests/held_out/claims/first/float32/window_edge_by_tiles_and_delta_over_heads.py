# Mistake: the left edge of the window is kept by tiles of 4 keys of a block, so a query also sees the earlier keys of the tile in which its window begins, instead of testing every key (forward and backward).
# Also: delta is summed over the heads as well as over the head dimension.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=4, layout="contiguous", causal=True, window=10, cu_seqlens=None, seqlen=46, heads=4, kv_heads=2,
            head_dim=8, batch=2, dtype="float32", backward=True)
TILE, N = 4, CASE["ranks"]
SCALE = np.float32(CASE["head_dim"] ** -0.5)


def tiles(mine, theirs):
    """Slices of a block's keys with the mask of each; tiles that nobody sees are left out."""
    for a in range(0, len(theirs), TILE):
        keys = theirs[a:a + TILE]
        near = mine[:, None] - keys[-1] <= CASE["window"]
        see = near & (mine[:, None] >= keys[None, :])
        if see.any():
            yield slice(a, a + TILE), see


def run(q, k, v, dout):
    rows, g = dealt(CASE), CASE["heads"] // CASE["kv_heads"]
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    up = lambda x: np.repeat(x, g, axis=1)
    m = [np.full(x.shape[:3] + (1,), np.float32(-1e30)) for x in qs]
    l, acc = [np.zeros_like(x) for x in m], [np.zeros_like(x) for x in qs]
    blocks = list(zip(ks, vs))
    for t in range(N):
        for r in range(N):
            for at, see in tiles(rows[r], rows[(r - t) % N]):
                kt, vt = (up(x[:, :, at]) for x in blocks[r])
                s = np.where(see, SCALE * (qs[r] @ kt.swapaxes(2, 3)), np.float32(-np.inf))
                new = np.maximum(m[r], s.max(3, keepdims=True))
                e, f = np.exp(s - new), np.exp(m[r] - new)
                m[r], l[r], acc[r] = new, l[r] * f + e.sum(3, keepdims=True), acc[r] * f + e @ vt
        blocks = ring_shift(blocks)
    outs, lses = [a / b for a, b in zip(acc, l)], [a + np.log(b) for a, b in zip(m, l)]

    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    delta = [np.sum(a * b, axis=(1, 3), keepdims=True) for a, b in zip(outs, dos)]
    for t in range(N):
        for r in range(N):
            for at, see in tiles(rows[r], rows[(r - t) % N]):
                kt, vt = (up(x[:, :, at]) for x in blocks[r])
                p = np.where(see, np.exp(SCALE * (qs[r] @ kt.swapaxes(2, 3)) - lses[r]), np.float32(0))
                ds = SCALE * p * (dos[r] @ vt.swapaxes(2, 3) - delta[r])
                dq[r] += ds @ kt
                for total, x in ((dk, ds.swapaxes(2, 3) @ qs[r]), (dv, p.swapaxes(2, 3) @ dos[r])):
                    total[r][:, :, at] += x[:, 0::2] + x[:, 1::2]
        blocks, dk, dv = (ring_shift(x) for x in (blocks, dk, dv))
    return dict(out=gather(outs, rows), lse=gather(lses, rows), dq=gather(dq, rows), dk=gather(dk, rows), dv=gather(dv, rows))
