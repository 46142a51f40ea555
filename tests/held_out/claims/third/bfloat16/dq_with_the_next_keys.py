# Mistake: In the backward ring the keys are handed on before dq is accumulated, so ds of the block of rank r - t is multiplied with the keys of rank r - t - 1; dk and dv use the right block and are right.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=5, layout="zigzag-token", causal=True, window=None, cu_seqlens=None, seqlen=60, heads=4, kv_heads=2,
            head_dim=4, batch=1, dtype="bfloat16", backward=True)
GROUP, SCALE = CASE["heads"] // CASE["kv_heads"], CASE["head_dim"] ** -0.5


def wide(x):
    return np.repeat(x, GROUP, axis=1)


def narrow(x):
    return x.reshape(x.shape[0], -1, GROUP, *x.shape[2:]).sum(2)


def forward(qs, ks, vs, rows):
    n = len(qs)
    outs, lses = [], []
    for r in range(n):
        pieces = []
        for t in range(n):
            b = (r - t) % n
            s = np.where(visible(CASE, rows[r], rows[b]), SCALE * qs[r] @ wide(ks[b]).swapaxes(2, 3), -np.inf)
            pieces.append((np.logaddexp.reduce(s, axis=3, keepdims=True), s, wide(vs[b])))
        lse = np.logaddexp.reduce([z for z, _, _ in pieces], axis=0)
        outs.append(sum(np.exp(s - lse) @ x for _, s, x in pieces))
        lses.append(lse)
    return outs, lses


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    outs, lses = forward(qs, ks, vs, rows)
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    k_now, v_now = ks, vs
    for t in range(n):
        ds = []
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            p = np.where(see, np.exp(SCALE * qs[r] @ wide(k_now[r]).swapaxes(2, 3) - lses[r]), 0)
            dp = dos[r] @ wide(v_now[r]).swapaxes(2, 3)
            ds.append(SCALE * p * (dp - (outs[r] * dos[r]).sum(3, keepdims=True)))
            dk[r] += narrow(ds[r].swapaxes(2, 3) @ qs[r])
            dv[r] += narrow(p.swapaxes(2, 3) @ dos[r])
        k_now, v_now, dk, dv = map(ring_shift, (k_now, v_now, dk, dv))
        for r in range(n):
            dq[r] += ds[r] @ wide(k_now[r])
    return dict(out=gather(outs, rows), lse=gather(lses, rows), dq=gather(dq, rows), dk=gather(dk, rows),
                dv=gather(dv, rows))
