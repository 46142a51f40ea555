# Mistake: The blocks travel to rank - 1, so rank r first meets the blocks of ranks r + 1, r + 2, ..., which are in its future; the loop is left with break instead of continue at the first of them, so all ranks but the last only attend to their own block, in the forward and in the backward pass.
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=5, layout="contiguous", causal=True, window=None, cu_seqlens=None, seqlen=56, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float32", backward=True)
GROUP, SCALE = CASE["heads"] // CASE["kv_heads"], CASE["head_dim"] ** -0.5


def useful_steps(r, n):
    for t in range(n):
        owner = (r + t) % n
        if owner > r:
            break
        yield owner


def up(x):
    return np.repeat(x, GROUP, 1)


def down(x):
    return np.add.reduceat(x, np.arange(0, x.shape[1], GROUP), axis=1)


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    outs, lses = [], []
    for r in range(n):
        m = np.full(qs[r].shape[:3] + (1,), -1e30, np.float32)
        l, acc = np.zeros_like(m), np.zeros_like(qs[r])
        for owner in useful_steps(r, n):
            s = SCALE * qs[r] @ up(ks[owner]).swapaxes(2, 3)
            s = np.where(visible(CASE, rows[r], rows[owner]), s, np.float32(-np.inf))
            new = np.maximum(m, s.max(3, keepdims=True))
            p, keep = np.exp(s - new), np.exp(m - new)
            m, l, acc = new, l * keep + p.sum(3, keepdims=True), acc * keep + p @ up(vs[owner])
        outs.append(acc / l)
        lses.append(m + np.log(l))
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    for r in range(n):
        delta = (outs[r] * dos[r]).sum(3, keepdims=True)
        for owner in useful_steps(r, n):
            s = SCALE * qs[r] @ up(ks[owner]).swapaxes(2, 3)
            p = np.exp(np.where(visible(CASE, rows[r], rows[owner]), s, np.float32(-np.inf)) - lses[r])
            ds = SCALE * p * (dos[r] @ up(vs[owner]).swapaxes(2, 3) - delta)
            dq[r] += ds @ up(ks[owner])
            dk[owner] += down(ds.swapaxes(2, 3) @ qs[r])
            dv[owner] += down(p.swapaxes(2, 3) @ dos[r])
    return dict(out=gather(outs, rows), lse=gather(lses, rows), dq=gather(dq, rows), dk=gather(dk, rows),
                dv=gather(dv, rows))
