# Mistake: In the striped layout every received block (ring step above 0) is masked strictly below its diagonal, instead of strictly only when the source rank is above the own rank, so a query loses the key of its own stripe index from every lower rank (forward and backward).
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=4, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=40, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float64", backward=True)


def stripe_mask(rows, step):
    return np.tri(rows, rows, 0 if step == 0 else -1, dtype=bool)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    group = CASE["heads"] // CASE["kv_heads"]
    size = len(rows[0])
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    wide = lambda x: x.repeat(group, 1)
    narrow = lambda x: x[:, 0::2] + x[:, 1::2]
    num, den, top = [0.0] * n, [0.0] * n, [-np.inf] * n
    kb, vb = ks, vs
    for t in range(n):
        mask = stripe_mask(size, t)
        for r in range(n):
            s = np.where(mask, scale * qs[r] @ wide(kb[r]).swapaxes(2, 3), -np.inf)
            new = np.maximum(top[r], s.max(3, keepdims=True))
            p, keep = np.exp(s - new), np.exp(top[r] - new)
            num[r], den[r], top[r] = num[r] * keep + p @ wide(vb[r]), den[r] * keep + p.sum(3, keepdims=True), new
        kb, vb = ring_shift(kb), ring_shift(vb)
    outs = [a / b for a, b in zip(num, den)]
    lses = [a + np.log(b) for a, b in zip(top, den)]
    deltas = [np.einsum("bhsd,bhsd->bhs", o, d)[..., None] for o, d in zip(outs, dos)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    kb, vb = ks, vs
    for t in range(n):
        mask = stripe_mask(size, t)
        for r in range(n):
            p = mask * np.exp(np.where(mask, scale * qs[r] @ wide(kb[r]).swapaxes(2, 3), -np.inf) - lses[r])
            ds = scale * p * (dos[r] @ wide(vb[r]).swapaxes(2, 3) - deltas[r])
            dq[r] += ds @ wide(kb[r])
            dk[r] += narrow(ds.swapaxes(2, 3) @ qs[r])
            dv[r] += narrow(p.swapaxes(2, 3) @ dos[r])
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
