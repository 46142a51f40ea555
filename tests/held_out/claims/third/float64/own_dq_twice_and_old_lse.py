# Mistake: (1) dq starts with the contribution of the rank's own block, and the backward loop, which starts at step 0, adds it again, so it counts twice. (2) The returned lse is the one before the block of the last step was merged; the backward pass uses the right one, out, dk and dv are right.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=5, layout="striped", causal=False, window=None, cu_seqlens=None, seqlen=48, heads=4, kv_heads=2,
            head_dim=8, batch=2, dtype="float64", backward=True)
GROUP, SCALE = CASE["heads"] // CASE["kv_heads"], CASE["head_dim"] ** -0.5


def wide(x):
    return np.repeat(x, GROUP, axis=1)


def narrow(x):
    return sum(x[:, i::GROUP] for i in range(GROUP))


def block_backward(q, k, v, do, out, lse):
    p = np.exp(SCALE * q @ wide(k).swapaxes(2, 3) - lse)
    ds = SCALE * p * (do @ wide(v).swapaxes(2, 3) - (do * out).sum(3, keepdims=True))
    return ds @ wide(k), narrow(ds.swapaxes(2, 3) @ q), narrow(p.swapaxes(2, 3) @ do)


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    out, lse, saved = [None] * n, [None] * n, [None] * n
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            s = SCALE * qs[r] @ wide(kb[r]).swapaxes(2, 3)
            z = np.logaddexp.reduce(s, axis=3, keepdims=True)
            o = np.exp(s - z) @ wide(vb[r])
            if t == 0:
                out[r], lse[r] = o, z
            else:
                saved[r] = lse[r]
                new = np.logaddexp(lse[r], z)
                out[r] = np.exp(lse[r] - new) * out[r] + np.exp(z - new) * o
                lse[r] = new
        kb, vb = ring_shift(kb), ring_shift(vb)
    given = [(qs[r], dos[r], out[r], lse[r]) for r in range(n)]
    dq = [block_backward(a, ks[r], vs[r], *rest)[0] for r, (a, *rest) in enumerate(given)]
    dk, dv = [np.zeros_like(x) for x in ks], [np.zeros_like(x) for x in vs]
    for t in range(n):
        for r, (a, *rest) in enumerate(given):
            parts = block_backward(a, kb[r], vb[r], *rest)
            for total, part in zip((dq[r], dk[r], dv[r]), parts):
                total += part
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(out=gather(out, rows), lse=gather(saved, rows), dq=gather(dq, rows), dk=gather(dk, rows),
                dv=gather(dv, rows))
