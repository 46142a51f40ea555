# Mistake: The forward multiplies the q buffer by the scale in place, and the backward reads this buffer as if it were q, so it recomputes the scores with the scale squared and multiplies dk by the scale once too often, instead of both with the plain q.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="zigzag-token", causal=True, window=None, cu_seqlens=None, seqlen=42, heads=4, kv_heads=4,
            head_dim=8, batch=1, dtype="float32", backward=True)


def forward(ctx, rows, scale):
    n = len(rows)
    m = [np.full(x.shape[:3] + (1,), -np.inf, x.dtype) for x in ctx["q"]]
    l = [np.zeros_like(x) for x in m]
    acc = [np.zeros_like(x) for x in ctx["q"]]
    for x in ctx["q"]:
        x *= scale
    kb, vb = ctx["k"], ctx["v"]
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            s = np.where(see, ctx["q"][r] @ kb[r].swapaxes(2, 3), np.float32(-np.inf))
            new = np.maximum(m[r], s.max(3, keepdims=True))
            p, keep = np.exp(s - new), np.exp(m[r] - new)
            m[r], l[r], acc[r] = new, l[r] * keep + p.sum(3, keepdims=True), acc[r] * keep + p @ vb[r]
        kb, vb = ring_shift(kb), ring_shift(vb)
    ctx["out"] = [a / b for a, b in zip(acc, l)]
    ctx["lse"] = [a + np.log(b) for a, b in zip(m, l)]


def backward(ctx, dos, rows, scale):
    n, qs = len(rows), ctx["q"]
    dq, dk, dv = ([np.zeros_like(x) for x in ctx[key]] for key in "qkv")
    kb, vb = ctx["k"], ctx["v"]
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            s = np.where(see, scale * qs[r] @ kb[r].swapaxes(2, 3), np.float32(-np.inf))
            p = np.exp(s - ctx["lse"][r])
            ds = scale * p * (dos[r] @ vb[r].swapaxes(2, 3) - (ctx["out"][r] * dos[r]).sum(3, keepdims=True))
            dq[r] += ds @ kb[r]
            dk[r] += ds.swapaxes(2, 3) @ qs[r]
            dv[r] += p.swapaxes(2, 3) @ dos[r]
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dq, dk, dv


def run(q, k, v, dout):
    rows, scale = dealt(CASE), CASE["head_dim"] ** -0.5
    ctx = {key: scatter(x, rows) for key, x in zip("qkv", (q, k, v))}
    forward(ctx, rows, scale)
    grads = backward(ctx, scatter(dout, rows), rows, scale)
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (ctx["out"], ctx["lse"], *grads))))
