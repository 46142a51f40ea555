# Mistake: In the tree that merges the partial results of 5 ranks, a part without a partner is merged with itself instead of being passed on unchanged, so the keys of the last rank count four times in out and lse, and the backward works with these.
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=5, layout="contiguous", causal=False, window=None, cu_seqlens=None, seqlen=43, heads=2, kv_heads=1,
            head_dim=8, batch=2, dtype="float32", backward=True)


def merge(a, b):
    lse = np.logaddexp(a[1], b[1])
    return a[0] * np.exp(a[1] - lse) + b[0] * np.exp(b[1] - lse), lse


def tree(parts):
    while len(parts) > 1:
        last = len(parts) - 1
        parts = [merge(parts[i], parts[min(i + 1, last)]) for i in range(0, len(parts), 2)]
    return parts[0]


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    ks, vs = scatter(k, rows), scatter(v, rows)
    every = np.arange(CASE["seqlen"])

    def score(r):
        return np.where(visible(CASE, every, rows[r]), scale * q @ ks[r].swapaxes(2, 3), -np.inf).astype(q.dtype)

    parts = []
    for r in range(n):
        s = score(r)
        top = s.max(3, keepdims=True)
        p = np.exp(s - top)
        l = p.sum(3, keepdims=True)
        parts.append((p @ vs[r] / l, top + np.log(l)))
    out, lse = tree(parts)
    delta = (out * dout).sum(3, keepdims=True)
    dq, dk, dv = np.zeros_like(q), [], []
    for r in range(n):
        p = np.exp(score(r) - lse)
        ds = scale * p * (dout @ vs[r].swapaxes(2, 3) - delta)
        dq += ds @ ks[r]
        dk.append((ds.swapaxes(2, 3) @ q).sum(1, keepdims=True))
        dv.append((p.swapaxes(2, 3) @ dout).sum(1, keepdims=True))
    return dict(out=out, lse=lse, dq=dq, dk=gather(dk, rows), dv=gather(dv, rows))
