# Mistake: zig-zag backward by halves; where only the late half of the queries sees the block, dq of these rows is
# assigned and not added, so what earlier steps gave them is lost.
import numpy as np

from case import dealt, gather, halves, scatter

CASE = dict(ranks=3, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=36, heads=2, kv_heads=2,
            head_dim=8, batch=1, dtype="float64", backward=True)
SC = CASE["head_dim"] ** -0.5
T = lambda x: np.swapaxes(x, -1, -2)


def parts(r, src, half):
    """Which rows of q meet which rows of the block."""
    if src < r:
        return slice(None), slice(0, half[src])
    return (slice(half[r], None) if src > r else slice(None)), slice(None)


def run(q, k, v, dout):
    n, rows, half = CASE["ranks"], dealt(CASE), halves(CASE)
    Q, K, V, G = (scatter(x, rows) for x in (q, k, v, dout))

    def probs(r, src, lse=None):
        a, b = parts(r, src, half)
        s = SC * Q[r][:, :, a] @ T(K[src][:, :, b])
        s = np.where(rows[src][b][None] <= rows[r][a][:, None], s, -np.inf)
        return a, b, np.exp(s if lse is None else s - lse[r][:, :, a])

    O, L = [np.zeros(x.shape) for x in Q], [np.zeros(x.shape[:3] + (1,)) for x in Q]
    for t in range(n):
        for r in range(n):
            a, b, p = probs(r, (r - t) % n)
            O[r][:, :, a] += p @ V[(r - t) % n][:, :, b]
            L[r][:, :, a] += p.sum(-1, keepdims=True)
    O = [o / l for o, l in zip(O, L)]
    L = [np.log(l) for l in L]
    dQ, dK, dV = ([np.zeros(x.shape) for x in y] for y in (Q, K, V))
    for t in range(n):
        for r in range(n):
            src = (r - t) % n
            a, b, p = probs(r, src, L)
            g, D = G[r][:, :, a], (G[r] * O[r]).sum(-1, keepdims=True)[:, :, a]
            ds = SC * p * (g @ T(V[src][:, :, b]) - D)
            if src > r:
                dQ[r][:, :, a] = ds @ K[src][:, :, b]
            else:
                dQ[r][:, :, a] += ds @ K[src][:, :, b]
            dK[src][:, :, b] += T(ds) @ Q[r][:, :, a]
            dV[src][:, :, b] += T(p) @ g
    return {name: gather(x, rows) for name, x in zip(("out", "lse", "dq", "dk", "dv"), (O, L, dQ, dK, dV))}
