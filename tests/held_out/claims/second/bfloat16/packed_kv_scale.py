# Mistake: For received blocks (ring step above 0), K and V arrive packed side by side and the scale is the inverse root of the packed width 2 * head_dim, instead of the inverse root of head_dim (forward and backward).
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=3, layout="zigzag", causal=True, window=None, cu_seqlens=[0, 10, 31, 45], seqlen=45, heads=4,
            kv_heads=2, head_dim=8, batch=1, dtype="bfloat16", backward=True)


def unpack(kv):
    d = kv.shape[-1] // 2
    return kv[..., :d], kv[..., d:]


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    group = CASE["heads"] // CASE["kv_heads"]
    wide = lambda x: np.repeat(x, group, axis=1)
    narrow = lambda x: x.reshape(x.shape[0], -1, group, *x.shape[2:]).sum(2)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    packed = [np.concatenate(pair, axis=3) for pair in zip(ks, vs)]

    def block(t, r, kv):
        scale = (ks[r] if t == 0 else kv).shape[-1] ** -0.5
        kk, vv = (wide(x) for x in unpack(kv))
        see = visible(CASE, rows[r], rows[(r - t) % n])
        return np.where(see, scale * qs[r] @ kk.swapaxes(2, 3), -np.inf), scale, kk, vv

    m = [np.full(x.shape[:3] + (1,), -np.inf) for x in qs]
    l = [np.zeros_like(x) for x in m]
    acc = [np.zeros_like(x) for x in qs]
    ring = packed
    for t in range(n):
        for r in range(n):
            s, _, _, vv = block(t, r, ring[r])
            new = np.maximum(m[r], s.max(3, keepdims=True))
            p, keep = np.exp(s - new), np.exp(m[r] - new)
            m[r], l[r], acc[r] = new, l[r] * keep + p.sum(3, keepdims=True), acc[r] * keep + p @ vv
        ring = ring_shift(ring)
    outs = [a / b for a, b in zip(acc, l)]
    lses = [a + np.log(b) for a, b in zip(m, l)]
    deltas = [(o * d).sum(3, keepdims=True) for o, d in zip(outs, dos)]
    dq, grads = [np.zeros_like(x) for x in qs], [np.zeros_like(x) for x in packed]
    for t in range(n):
        for r in range(n):
            s, scale, kk, vv = block(t, r, ring[r])
            p = np.exp(s - lses[r])
            ds = scale * p * (dos[r] @ vv.swapaxes(2, 3) - deltas[r])
            dq[r] += ds @ kk
            grads[r] += np.concatenate([narrow(ds.swapaxes(2, 3) @ qs[r]), narrow(p.swapaxes(2, 3) @ dos[r])], axis=3)
        ring, grads = ring_shift(ring), ring_shift(grads)
    dk, dv = zip(*(unpack(x) for x in grads))
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
