# Mistake: delta = rowsum(out * dout) is computed from the running output before the block of the last step is merged, instead of from the finished output; this makes dq and dk wrong, out, lse and dv are right.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=50, heads=4, kv_heads=1,
            head_dim=4, batch=2, dtype="float64", backward=True)


def partial_attention(q, k, v, see):
    # one KV head: it broadcasts over the query heads
    s = np.where(see, q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5, -np.inf)
    peak = np.maximum(s.max(-1, keepdims=True), -1e30)
    e = np.exp(s - peak)
    z = e.sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        return e @ v / np.maximum(z, 1e-300), peak + np.log(z)


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    scale = CASE["head_dim"] ** -0.5
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    out = [np.zeros_like(x) for x in qs]
    lse = [np.full(x.shape[:3] + (1,), -np.inf) for x in qs]
    delta = [None] * n
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            if t == n - 1:  # overlap: the sums for the backward pass while the last block arrives
                delta[r] = np.sum(out[r] * dos[r], axis=-1, keepdims=True)
            o, z = partial_attention(qs[r], kb[r], vb[r], visible(CASE, rows[r], rows[(r - t) % n]))
            both = np.logaddexp(lse[r], z)
            finite = np.where(np.isinf(both), 0, both)
            out[r] = np.exp(lse[r] - finite) * out[r] + np.exp(z - finite) * o
            lse[r] = both
        kb, vb = ring_shift(kb), ring_shift(vb)
    grads = [[np.zeros_like(x) for x in xs] for xs in (qs, ks, vs)]
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            p = np.exp(np.where(see, scale * qs[r] @ kb[r].swapaxes(2, 3), -np.inf) - lse[r])
            ds = p * (dos[r] @ vb[r].swapaxes(2, 3) - delta[r]) * scale
            grads[0][r] += ds @ kb[r]
            grads[1][r] += (ds.swapaxes(2, 3) @ qs[r]).sum(1, keepdims=True)
            grads[2][r] += (p.swapaxes(2, 3) @ dos[r]).sum(1, keepdims=True)
        kb, vb, grads[1], grads[2] = (ring_shift(x) for x in (kb, vb, grads[1], grads[2]))
    dq, dk, dv = (gather(x, rows) for x in grads)
    return dict(out=gather(out, rows), lse=gather(lse, rows), dq=dq, dk=dk, dv=dv)
