# Mistake: in the forward ring the blocks are handed on in place, rank 0 first, so that after a hop every rank holds the block that rank N - 1 held, instead of that of its neighbour.
import numpy as np

from case import dealt, gather, scatter

CASE = dict(ranks=4, layout="zigzag-token", causal=False, window=None, cu_seqlens=None, seqlen=46, heads=4, kv_heads=1,
            head_dim=8, batch=2, dtype="float32", backward=True)
N = CASE["ranks"]
SCALE = float(CASE["head_dim"]) ** -0.5


def pass_on(slots):
    for r in range(N):
        slots[r] = slots[r - 1]


def block(q, k, v):
    s = SCALE * np.matmul(q, k.swapaxes(-1, -2))
    top = s.max(-1, keepdims=True)
    p = np.exp(s - top)
    total = p.sum(-1, keepdims=True)
    return np.matmul(p, v) / total, top + np.log(total)


def run(q, k, v, dout):
    rows = dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    slots = [(ks[r], vs[r]) for r in range(N)]
    state = [None] * N
    for t in range(N):
        for r in range(N):
            o, e = block(qs[r], *slots[r])
            if state[r] is not None:
                o0, e0 = state[r]
                both = np.logaddexp(e0, e)
                o, e = o0 * np.exp(e0 - both) + o * np.exp(e - both), both
            state[r] = o, e
        if t < N - 1:
            pass_on(slots)

    outs, lses = zip(*state)
    dq = [np.zeros_like(x) for x in qs]
    dk, dv = [np.zeros_like(x) for x in ks], [np.zeros_like(x) for x in vs]
    for owner in range(N):
        for r in range(N):
            p = np.exp(SCALE * qs[r] @ ks[owner].swapaxes(-1, -2) - lses[r])
            dp = dos[r] @ vs[owner].swapaxes(-1, -2)
            ds = SCALE * p * (dp - np.sum(dos[r] * outs[r], axis=-1, keepdims=True))
            dq[r] += ds @ ks[owner]
            dk[owner] += (ds.swapaxes(-1, -2) @ qs[r]).sum(axis=1, keepdims=True)
            dv[owner] += (p.swapaxes(-1, -2) @ dos[r]).sum(axis=1, keepdims=True)
    back = lambda x: gather(x, rows)
    return dict(out=back(outs), lse=back(lses), dq=back(dq), dk=back(dk), dv=back(dv))
