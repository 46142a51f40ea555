# Mistake: In the striped layout a block from a source rank above the own rank is skipped as if it lay in the future, which holds for contiguous shards only, instead of being attended strictly below its diagonal (forward and backward).
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=46, heads=4, kv_heads=1,
            head_dim=8, batch=1, dtype="bfloat16", backward=True)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    m = [np.full(x.shape[:3] + (1,), -np.inf) for x in qs]
    l = [np.zeros_like(x) for x in m]
    acc = [np.zeros_like(x) for x in qs]
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            source = (r - t) % n
            if source > r:
                continue
            see = visible(CASE, rows[r], rows[source])
            s = np.where(see, scale * qs[r] @ kb[r].swapaxes(2, 3), -np.inf)
            new = np.maximum(m[r], s.max(3, keepdims=True))
            p, keep = np.exp(s - new), np.exp(m[r] - new)
            m[r], l[r], acc[r] = new, l[r] * keep + p.sum(3, keepdims=True), acc[r] * keep + p @ vb[r]
        kb, vb = ring_shift(kb), ring_shift(vb)
    outs = [a / b for a, b in zip(acc, l)]
    lses = [a + np.log(b) for a, b in zip(m, l)]
    deltas = [(o * d).sum(3, keepdims=True) for o, d in zip(outs, dos)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    for t in range(n):
        for r in range(n):
            source = (r - t) % n
            if source <= r:
                see = visible(CASE, rows[r], rows[source])
                p = np.exp(np.where(see, scale * qs[r] @ kb[r].swapaxes(2, 3), -np.inf) - lses[r])
                ds = scale * p * (dos[r] @ vb[r].swapaxes(2, 3) - deltas[r])
                dq[r] += ds @ kb[r]
                dk[r] += (ds.swapaxes(2, 3) @ qs[r]).sum(1, keepdims=True)
                dv[r] += (p.swapaxes(2, 3) @ dos[r]).sum(1, keepdims=True)
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
