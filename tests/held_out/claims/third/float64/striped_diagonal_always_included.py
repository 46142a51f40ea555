# Mistake: Striped attention: for the block of a later rank (owner > rank) the triangle must be strict (key row < query row), but the diagonal is included for all blocks; so a query also sees the later ranks' keys of its own round, up to ranks - 1 tokens in its future.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=4, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=43, heads=6, kv_heads=2,
            head_dim=8, batch=1, dtype="float64", backward=False)


def triangle(rank, owner, n_q, n_k):
    i, j = np.arange(n_q)[:, None], np.arange(n_k)[None, :]
    return j <= i


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    group = CASE["heads"] // CASE["kv_heads"]
    qs, ks, vs = (scatter(x, rows) for x in (q, k, v))
    results = [[] for _ in range(n)]
    for t in range(n):
        for r in range(n):
            parts = []
            for h in range(CASE["heads"]):
                s = qs[r][:, h] @ ks[r][:, h // group].swapaxes(1, 2) * CASE["head_dim"] ** -0.5
                s = np.where(triangle(r, (r - t) % n, *s.shape[1:]), s, -np.inf)
                top = np.maximum(s.max(2, keepdims=True), -1e200)
                e = np.exp(s - top)
                parts.append((e @ vs[r][:, h // group], top, e.sum(2, keepdims=True)))
            results[r].append([np.stack(x, axis=1) for x in zip(*parts)])
        ks, vs = ring_shift(ks), ring_shift(vs)
    outs, lses = [], []
    for steps in results:  # merge all partial results at the end
        peak = np.max([m for _, m, _ in steps], axis=0)
        total = sum(l * np.exp(m - peak) for _, m, l in steps)
        outs.append(sum(o * np.exp(m - peak) for o, m, _ in steps) / total)
        lses.append(peak + np.log(total))
    return dict(out=gather(outs, rows), lse=gather(lses, rows))
