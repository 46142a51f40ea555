# Mistake: the backward pass computes its weights under the causal mask alone, without the window that the forward pass had.
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=3, layout="zigzag", causal=True, window=7, cu_seqlens=None, seqlen=41, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="bfloat16", backward=True)
N = CASE["ranks"]


class Context:
    """What the forward pass saves for the backward pass."""


def forward(ctx, q, k, v):
    ctx.q, ctx.k, ctx.v = q, k, v
    ctx.out, ctx.lse = [], []
    for r in range(N):
        out = lse = None
        for t in range(N):
            src = (r - t) % N
            see = visible(CASE, ctx.rows[r], ctx.rows[src])
            s = np.where(see, np.einsum("bcgqd,bckd->bcgqk", q[r], k[src]) * ctx.scale, -np.inf)
            top = np.maximum(s.max(-1, keepdims=True), -1e30)
            e = np.exp(s - top)
            total = e.sum(-1, keepdims=True)
            with np.errstate(divide="ignore"):
                block_lse = top + np.log(total)
            block_out = np.einsum("bcgqk,bckd->bcgqd", e, v[src]) / np.maximum(total, 1e-300)
            if out is None:
                out, lse = block_out, block_lse
                continue
            joint = np.logaddexp(lse, block_lse)
            out = np.exp(lse - joint) * out + np.exp(block_lse - joint) * block_out
            lse = joint
        ctx.out.append(out)
        ctx.lse.append(lse)
    return ctx.out, ctx.lse


def backward(ctx, dout):
    settings = dict(CASE, window=None)
    dq = [np.zeros_like(x) for x in ctx.q]
    dk, dv = [np.zeros_like(x) for x in ctx.k], [np.zeros_like(x) for x in ctx.v]
    for r in range(N):
        delta = np.einsum("bcgqd,bcgqd->bcgq", ctx.out[r], dout[r])[..., None]
        for t in range(N):
            src = (r - t) % N
            see = visible(settings, ctx.rows[r], ctx.rows[src])
            s = np.einsum("bcgqd,bckd->bcgqk", ctx.q[r], ctx.k[src]) * ctx.scale
            p = np.where(see, np.exp(s - ctx.lse[r]), 0.0)
            ds = p * (np.einsum("bcgqd,bckd->bcgqk", dout[r], ctx.v[src]) - delta) * ctx.scale
            dq[r] += np.einsum("bcgqk,bckd->bcgqd", ds, ctx.k[src])
            dk[src] += np.einsum("bcgqk,bcgqd->bckd", ds, ctx.q[r])
            dv[src] += np.einsum("bcgqk,bcgqd->bckd", p, dout[r])
    return dq, dk, dv


def run(q, k, v, dout):
    ctx = Context()
    ctx.rows, ctx.scale = dealt(CASE), CASE["head_dim"] ** -0.5
    by_group = lambda x: x.reshape(x.shape[0], CASE["kv_heads"], -1, *x.shape[2:])
    qs, dos = ([by_group(x) for x in scatter(y, ctx.rows)] for y in (q, dout))
    out, lse = forward(ctx, qs, scatter(k, ctx.rows), scatter(v, ctx.rows))
    dq, dk, dv = backward(ctx, dos)
    whole = lambda xs: gather([x.reshape(x.shape[0], CASE["heads"], x.shape[3], -1) for x in xs], ctx.rows)
    return dict(out=whole(out), lse=whole(lse), dq=whole(dq), dk=gather(dk, ctx.rows), dv=gather(dv, ctx.rows))
