# Mistake: blocks that come from a later rank are skipped. That is the rule of the contiguous layout; under stripes every
# rank's keys are half visible to every other.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=59, heads=2, kv_heads=2,
            head_dim=8, batch=1, dtype="float32", backward=True)
INF = np.float32(np.inf)


def useful(r, src):
    return src <= r


def schedule(n):
    for t in range(n):
        yield t, [(r, (r - t) % n) for r in range(n) if useful(r, (r - t) % n)]


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    scale = np.float32(1 / np.sqrt(CASE["head_dim"]))
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    see = lambda r, j: visible(CASE, rows[r], rows[j])
    num, den, top = {}, {}, {}
    kb, vb = ks, vs
    for t, jobs in schedule(n):
        for r, j in jobs:
            s = np.where(see(r, j), scale * qs[r] @ kb[r].swapaxes(2, 3), -INF)
            m = s.max(3, keepdims=True)
            if t == 0:
                top[r], e = m, np.exp(s - m)
                den[r], num[r] = e.sum(3, keepdims=True), e @ vb[r]
            else:
                new = np.maximum(top[r], m)
                e, c = np.exp(s - new), np.exp(top[r] - new)
                top[r], den[r], num[r] = new, den[r] * c + e.sum(3, keepdims=True), num[r] * c + e @ vb[r]
        kb, vb = ring_shift(kb), ring_shift(vb)
    out = [num[r] / den[r] for r in range(n)]
    lse = [top[r] + np.log(den[r]) for r in range(n)]
    dq, dk, dv = ([np.zeros_like(x) for x in y] for y in (qs, ks, vs))
    for t, jobs in schedule(n):
        for r, j in jobs:
            p = np.exp(np.where(see(r, j), scale * qs[r] @ kb[r].swapaxes(2, 3), -INF) - lse[r])
            ds = p * (dos[r] @ vb[r].swapaxes(2, 3) - (out[r] * dos[r]).sum(3, keepdims=True)) * scale
            dq[r] += ds @ kb[r]
            dk[r] += ds.swapaxes(2, 3) @ qs[r]
            dv[r] += p.swapaxes(2, 3) @ dos[r]
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return {a: gather(b, rows) for a, b in dict(out=out, lse=lse, dq=dq, dk=dk, dv=dv).items()}
