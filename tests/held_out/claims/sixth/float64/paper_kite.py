# Mistake: the forward rotates k and v in their own buffers n - 1 times and those buffers are what was kept for the
# backward, so each rank starts it with its successor's block in the place of its own.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=6, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=72, heads=2, kv_heads=2,
            head_dim=8, batch=1, dtype="float64", backward=True)


class Context:
    pass


def forward(ctx, q, k, v):
    n = len(q)
    ctx.q, ctx.k, ctx.v = q, k, v
    acc = [None] * n
    for t in range(n):
        for r in range(n):
            s = np.where(visible(CASE, ctx.rows[r], ctx.rows[(r - t) % n]), q[r] @ ctx.k[r].swapaxes(2, 3) * ctx.scale, -np.inf)
            lse = np.logaddexp.reduce(s, axis=3, keepdims=True)
            o = np.exp(s - np.where(np.isinf(lse), 0, lse)) @ ctx.v[r]
            if acc[r] is None:
                acc[r] = o, lse
            else:
                o0, l0 = acc[r]
                l1 = np.logaddexp(l0, lse)
                acc[r] = np.exp(l0 - l1) * o0 + np.exp(lse - l1) * o, l1
        if t + 1 < n:
            ctx.k, ctx.v = ring_shift(ctx.k), ring_shift(ctx.v)
    ctx.out, ctx.lse = [a[0] for a in acc], [a[1] for a in acc]
    return ctx.out, ctx.lse


def backward(ctx, do):
    n = len(do)
    k, v = ctx.k, ctx.v
    dq, dk, dv = ([np.zeros_like(x) for x in y] for y in (ctx.q, k, v))
    for t in range(n):
        for r in range(n):
            s = np.where(visible(CASE, ctx.rows[r], ctx.rows[(r - t) % n]), ctx.q[r] @ k[r].swapaxes(2, 3) * ctx.scale, -np.inf)
            p = np.exp(s - ctx.lse[r])
            ds = p * (do[r] @ v[r].swapaxes(2, 3) - np.sum(do[r] * ctx.out[r], axis=3, keepdims=True))
            dq[r] += ctx.scale * ds @ k[r]
            dk[r] += ctx.scale * ds.swapaxes(2, 3) @ ctx.q[r]
            dv[r] += p.swapaxes(2, 3) @ do[r]
        k, v, dk, dv = map(ring_shift, (k, v, dk, dv))
    return dq, dk, dv


def run(q, k, v, dout):
    ctx = Context()
    ctx.rows, ctx.scale = dealt(CASE), CASE["head_dim"] ** -0.5
    cut = lambda x: scatter(x, ctx.rows)
    out, lse = forward(ctx, cut(q), cut(k), cut(v))
    dq, dk, dv = backward(ctx, cut(dout))
    join = lambda x: gather(x, ctx.rows)
    return dict(out=join(out), lse=join(lse), dq=join(dq), dk=join(dk), dv=join(dv))
