# Mistake: After the last backward step dk makes its closing hop home but dv does not, so each rank returns the dv of the block of rank r + 1 as its own.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=3, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=36, heads=4, kv_heads=4,
            head_dim=8, batch=2, dtype="float64", backward=True)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    outs, lses = [], []
    for r in range(n):  # forward: each rank takes the blocks in the order in which the ring brings them
        out, lse = np.zeros_like(qs[r]), np.full(qs[r].shape[:3] + (1,), -np.inf)
        for t in range(n):
            b = (r - t) % n
            s = np.where(visible(CASE, rows[r], rows[b]), scale * qs[r] @ ks[b].swapaxes(2, 3), -np.inf)
            z = np.logaddexp.reduce(s, axis=3, keepdims=True)
            new = np.logaddexp(lse, z)
            base = np.where(np.isinf(new), 0, new)
            out, lse = out * np.exp(lse - base) + np.exp(s - base) @ vs[b], new
        outs.append(out)
        lses.append(lse)

    delta = [np.einsum("bhsd,bhsd->bhs", o, d)[..., None] for o, d in zip(outs, dos)]
    dq = [np.zeros_like(x) for x in qs]
    dk_ring, dv_ring = [np.zeros_like(x) for x in ks], [np.zeros_like(x) for x in vs]
    k_ring, v_ring = ks, vs
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            p = np.where(see, np.exp(scale * qs[r] @ k_ring[r].swapaxes(2, 3) - lses[r]), 0)
            ds = scale * p * (dos[r] @ v_ring[r].swapaxes(2, 3) - delta[r])
            dq[r] += ds @ k_ring[r]
            dk_ring[r] += ds.swapaxes(2, 3) @ qs[r]
            dv_ring[r] += p.swapaxes(2, 3) @ dos[r]
        if t < n - 1:
            k_ring, v_ring = ring_shift(k_ring), ring_shift(v_ring)
            dk_ring, dv_ring = ring_shift(dk_ring), ring_shift(dv_ring)
    dk_ring = ring_shift(dk_ring)
    return dict(out=gather(outs, rows), lse=gather(lses, rows), dq=gather(dq, rows), dk=gather(dk_ring, rows),
                dv=gather(dv_ring, rows))
