# Mistake: After the all-gather the keys and values, which lie rank by rank in zig-zag order, are brought into sequence order by indexing with the permutation itself (x[perm]) instead of its inverse (x[argsort(perm)]); so the causal mask hides and shows the wrong keys.
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=3, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=45, heads=8, kv_heads=2,
            head_dim=8, batch=1, dtype="float32", backward=False)


def all_gather(shards):
    return np.concatenate(shards, axis=2)


def run(q, k, v, dout):
    rows = dealt(CASE)
    perm = np.concatenate(rows)
    order = perm
    keys, values = (all_gather(scatter(x, rows))[:, :, order] for x in (k, v))
    group = CASE["heads"] // CASE["kv_heads"]
    outs, lses = [], []
    for x, mine in zip(scatter(q, rows), rows):
        see = visible(CASE, mine, np.arange(CASE["seqlen"]))
        out, lse = np.empty_like(x), np.empty(x.shape[:3], x.dtype)
        for h in range(CASE["heads"]):
            s = np.einsum("bqd,bkd->bqk", x[:, h], keys[:, h // group]) * CASE["head_dim"] ** -0.5
            s = np.where(see, s, np.float32(-np.inf))
            peak = s.max(2)
            e = np.exp(s - peak[:, :, None])
            out[:, h] = e @ values[:, h // group] / e.sum(2)[:, :, None]
            lse[:, h] = peak + np.log(e.sum(2))
        outs.append(out)
        lses.append(lse)
    return dict(out=gather(outs, rows), lse=gather(lses, rows))
