# Mistake: Ulysses on 4 ranks with 2 KV heads, each replicated for 2 ranks. (1) dk and dv of a KV head are taken from its first replica alone instead of the sum over both replicas, so half of its query heads are missing. (2) delta sums out * dout over both query heads of a rank instead of for each query head alone, which makes dq and dk wrong.
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=4, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=39, heads=8, kv_heads=2,
            head_dim=8, batch=2, dtype="bfloat16", backward=True)
N = CASE["ranks"]
REPLICAS = N // CASE["kv_heads"]


def to_heads(x, rows, heads_per_rank):
    """Scatter rows as they lie on the ranks, then the all-to-all: each rank gets all rows of its heads."""
    shards = scatter(x, rows)
    return [gather([s[:, r * heads_per_rank:(r + 1) * heads_per_rank] for s in shards], rows) for r in range(N)]


def to_rows(parts, rows):
    whole = np.concatenate(parts, axis=1)
    return scatter(whole, rows)


def run(q, k, v, dout):
    rows, every = dealt(CASE), np.arange(CASE["seqlen"])
    see, scale = visible(CASE, every, every), CASE["head_dim"] ** -0.5
    qs, dos = (to_heads(x, rows, CASE["heads"] // N) for x in (q, dout))
    ks, vs = (to_heads(np.repeat(x, REPLICAS, axis=1), rows, 1) for x in (k, v))
    got = {name: [] for name in ("out", "lse", "dq", "dk", "dv")}
    for a, kr, vr, do in zip(qs, ks, vs, dos):
        s = np.where(see, scale * a @ kr.swapaxes(2, 3), -np.inf)
        lse = np.logaddexp.reduce(s, axis=3, keepdims=True)
        p = np.exp(s - lse)
        out = p @ vr
        delta = (out * do).sum(axis=(1, 3), keepdims=True)
        ds = scale * p * (do @ vr.swapaxes(2, 3) - delta)
        dk = (ds.swapaxes(2, 3) @ a).sum(1, keepdims=True)
        dv = (p.swapaxes(2, 3) @ do).sum(1, keepdims=True)
        for name, x in zip(got, (out, lse, ds @ kr, dk, dv)):
            got[name].append(x)
    result = {name: gather(to_rows(got[name], rows), rows) for name in ("out", "lse", "dq")}
    for name in ("dk", "dv"):
        heads = [got[name][g * REPLICAS] for g in range(CASE["kv_heads"])]
        result[name] = gather(to_rows(heads, rows), rows)
    return result
