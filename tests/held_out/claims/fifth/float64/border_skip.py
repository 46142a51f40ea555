# Mistake: a block is left out when its distance (first query minus last key) is >= window, though the window includes
# the key exactly `window` back: the one pair at that distance is lost wherever a block's corner has it.
import numpy as np

from case import gather, scatter

CASE = dict(ranks=4, layout="contiguous", causal=True, window=9, cu_seqlens=[0, 27, 48], seqlen=48, heads=2, kv_heads=1,
            head_dim=8, batch=1, dtype="float64", backward=False)


def run(q, k, v, dout):
    n, S, W = CASE["ranks"], CASE["seqlen"], CASE["window"]
    tile = 4
    rows = np.array_split(np.arange(S), n)
    doc = np.searchsorted(CASE["cu_seqlens"], np.arange(S), side="right")
    qs, ks, vs = scatter(q, rows), scatter(k, rows), scatter(v, rows)
    k_at = {r: r for r in range(n)}
    acc = {r: (np.zeros_like(qs[r]), np.full(qs[r].shape[:3], -np.inf)) for r in range(n)}
    for step in range(n):
        for r in range(n):
            src = k_at[r]
            for i in range(0, len(rows[r]), tile):
                for j in range(0, len(rows[src]), tile):
                    a, b = rows[r][i:i + tile], rows[src][j:j + tile]
                    far = a[0] - b[-1] >= W
                    if far or b[0] > a[-1]:
                        continue
                    ok = (b[None] <= a[:, None]) & (a[:, None] - b[None] <= W) & (doc[a][:, None] == doc[b][None])
                    if not ok.any():
                        continue
                    s = qs[r][:, :, i:i + tile] @ ks[src][:, :, j:j + tile].swapaxes(2, 3) * CASE["head_dim"] ** -0.5
                    s = np.where(ok, s, -np.inf)
                    o, e = acc[r][0][:, :, i:i + tile], acc[r][1][:, :, i:i + tile]
                    with np.errstate(divide="ignore"):
                        new = np.logaddexp(e, np.log(np.exp(s).sum(-1)))
                    base = np.where(np.isinf(new), 0, new)
                    o *= np.exp(e - base)[..., None]
                    o += np.exp(s - base[..., None]) @ vs[src][:, :, j:j + tile]
                    e[...] = new
        k_at = {r: k_at[(r - 1) % n] for r in range(n)}
    return dict(out=gather([acc[r][0] for r in range(n)], rows), lse=gather([acc[r][1][..., None] for r in range(n)], rows))
