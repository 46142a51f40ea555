# Mistake: In a ring where Q and its state travel and K and V stay, the queries that reach rank r at step t are masked with the positions of rank r + t, instead of with those of rank r - t, where they come from.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=5, layout="contiguous", causal=True, window=None, cu_seqlens=None, seqlen=40, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float64", backward=False)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    group = CASE["heads"] // CASE["kv_heads"]
    ks, vs = ([np.repeat(x, group, axis=1) for x in scatter(whole, rows)] for whole in (k, v))
    guests = [dict(q=x, m=np.full(x.shape[:3] + (1,), -np.inf), l=np.zeros(x.shape[:3] + (1,)), acc=np.zeros_like(x))
              for x in scatter(q, rows)]
    for t in range(n):
        for r, g in enumerate(guests):
            see = visible(CASE, rows[(r + t) % n], rows[r])
            if not see.any():
                continue
            s = np.where(see, scale * g["q"] @ ks[r].swapaxes(2, 3), -np.inf)
            new = np.maximum(g["m"], s.max(3, keepdims=True))
            p, keep = np.exp(s - new), np.exp(g["m"] - new)
            g.update(m=new, l=g["l"] * keep + p.sum(3, keepdims=True), acc=g["acc"] * keep + p @ vs[r])
        guests = ring_shift(guests)
    return dict(out=gather([g["acc"] / g["l"] for g in guests], rows),
                lse=gather([g["m"] + np.log(g["l"]) for g in guests], rows))
