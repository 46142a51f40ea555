# Mistake: each block's backward is called with the lse of that block, as its forward returned it, where the merged lse
# over all blocks belongs.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=3, layout="contiguous", causal=True, window=None, cu_seqlens=None, seqlen=46, heads=2, kv_heads=2,
            head_dim=16, batch=1, dtype="float64", backward=True)


def flash_forward(q, k, v, see):
    s = np.where(see, q @ k.swapaxes(2, 3) * q.shape[-1] ** -0.5, -np.inf)
    lse = np.log(np.exp(s - s.max(3, keepdims=True)).sum(3, keepdims=True)) + s.max(3, keepdims=True)
    return np.exp(s - lse) @ v, lse


def flash_backward(do, q, k, v, out, lse, see):
    scale = q.shape[-1] ** -0.5
    p = np.where(see, np.exp(q @ k.swapaxes(2, 3) * scale - lse), 0)
    ds = p * (do @ v.swapaxes(2, 3) - (do * out).sum(3, keepdims=True)) * scale
    return ds @ k, ds.swapaxes(2, 3) @ q, p.swapaxes(2, 3) @ do


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    kr, vr = ks, vs
    out, lse, step_lse = [None] * n, [None] * n, {}
    for t in range(n):
        for r in range(t, n):
            o, l = flash_forward(qs[r], kr[r], vr[r], visible(CASE, rows[r], rows[r - t]))
            step_lse[r, t] = l
            if t == 0:
                out[r], lse[r] = o, l
            else:
                total = np.logaddexp(lse[r], l)
                out[r] = out[r] * np.exp(lse[r] - total) + o * np.exp(l - total)
                lse[r] = total
        kr, vr = ring_shift(kr), ring_shift(vr)
    dq, dk, dv = ([np.zeros_like(x) for x in y] for y in (qs, ks, vs))
    for t in range(n):
        for r in range(t, n):
            a, b, c = flash_backward(dos[r], qs[r], kr[r], vr[r], out[r], step_lse[r, t], visible(CASE, rows[r], rows[r - t]))
            dq[r] += a
            dk[r] += b
            dv[r] += c
        kr, vr, dk, dv = ring_shift(kr), ring_shift(vr), ring_shift(dk), ring_shift(dv)
    return {x: gather(y, rows) for x, y in zip(("out", "lse", "dq", "dk", "dv"), (out, lse, dq, dk, dv))}
