# Mistake: ctx.out is set to the first block's output in the belief that the merges happen in place; they bind new arrays,
# so the backward's delta is of the own block alone. (lse is saved after the ring, and right.)
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=8, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=120, heads=4, kv_heads=1,
            head_dim=8, batch=1, dtype="bfloat16", backward=True)
H, D = CASE["heads"], CASE["head_dim"]


class Ctx(dict):
    __getattr__, __setattr__ = dict.__getitem__, dict.__setitem__


def scores(q, k, qpos, kpos):
    return np.where(visible(CASE, qpos, kpos), q @ k.swapaxes(2, 3) / np.sqrt(D), -np.inf)


def one(q, k, v, qpos, kpos):
    s = scores(q, k, qpos, kpos)
    lse = np.logaddexp.reduce(s, axis=3, keepdims=True)
    return np.exp(s - np.where(np.isinf(lse), 0, lse)) @ v, lse


def forward(ctxs, rows):
    n = len(rows)
    for r, ctx in enumerate(ctxs):
        out, lse = one(ctx.q, ctx.k, ctx.v, rows[r], rows[r])
        ctx.out = out
        for t in range(1, n):
            other = ctxs[(r - t) % n]
            o, l = one(ctx.q, other.k, other.v, rows[r], rows[(r - t) % n])
            new = np.logaddexp(lse, l)
            out, lse = out * np.exp(lse - new) + o * np.exp(l - new), new
        ctx.lse = lse
        yield out, lse


def backward(ctxs, rows, dos):
    n = len(rows)
    delta = [(d * c.out).sum(3, keepdims=True) for c, d in zip(ctxs, dos)]
    dq = [np.zeros_like(c.q) for c in ctxs]
    bags = [(c.k, c.v, np.zeros_like(c.k), np.zeros_like(c.v)) for c in ctxs]
    for t in range(n):
        for r, (c, (k, v, dk, dv)) in enumerate(zip(ctxs, bags)):
            p = np.exp(scores(c.q, k, rows[r], rows[(r - t) % n]) - c.lse)
            ds = p * (dos[r] @ v.swapaxes(2, 3) - delta[r]) / np.sqrt(D)
            dq[r] += ds @ k
            dk += np.einsum("bhqk,bhqd->bkd", ds, c.q)[:, None]
            dv += np.einsum("bhqk,bhqd->bkd", p, dos[r])[:, None]
        bags = ring_shift(bags)
    return dq, [b[2] for b in bags], [b[3] for b in bags]


def run(q, k, v, dout):
    rows = dealt(CASE)
    ctxs = [Ctx(q=a, k=b, v=c) for a, b, c in zip(*(scatter(x, rows) for x in (q, k, v)))]
    out, lse = zip(*forward(ctxs, rows))
    dq, dk, dv = backward(ctxs, rows, scatter(dout, rows))
    return dict(out=gather(out, rows), lse=gather(lse, rows), dq=gather(dq, rows), dk=gather(dk, rows), dv=gather(dv, rows))
