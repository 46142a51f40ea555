# Mistake: the returned lse is in base 2 instead of the natural logarithm; the backward pass uses it rightly.
# Also: dout is dealt to the ranks contiguously, while q, k, v and out are dealt in zigzag.
import numpy as np

from case import dealt, gather, positions, ring_shift, scatter, visible

CASE = dict(ranks=5, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=50, heads=2, kv_heads=1,
            head_dim=16, batch=1, dtype="float64", backward=True)
N, SCALE = CASE["ranks"], CASE["head_dim"] ** -0.5 * np.log2(np.e)


def run(q, k, v, dout):
    rows = dealt(CASE)
    qs, ks, vs = (scatter(x, rows) for x in (q, k, v))
    dos = scatter(dout, positions("contiguous", CASE["seqlen"], N))
    outs, lses, dqs = [], [], []
    for r in range(N):
        m, l, acc = None, 0, 0
        for t in range(N):
            src = (r - t) % N
            s = np.where(visible(CASE, rows[r], rows[src]), SCALE * qs[r] @ ks[src].swapaxes(2, 3), -np.inf)
            top = s.max(3, keepdims=True)
            new = top if m is None else np.maximum(m, top)
            e, f = np.exp2(s - new), 0 if m is None else np.exp2(m - new)
            m, l, acc = new, l * f + e.sum(3, keepdims=True), acc * f + e @ vs[src]
        outs.append(acc / l)
        lses.append(m + np.log2(l))
    dk, dv = [np.zeros_like(x) for x in ks], [np.zeros_like(x) for x in vs]
    for r in range(N):
        dqs.append(np.zeros_like(qs[r]))
    hand = list(zip(ks, vs))
    for t in range(N):
        for r in range(N):
            kb, vb = hand[r]
            see = visible(CASE, rows[r], rows[(r - t) % N])
            p = np.where(see, np.exp2(SCALE * qs[r] @ kb.swapaxes(2, 3) - lses[r]), 0)
            delta = (outs[r] * dos[r]).sum(3, keepdims=True)
            ds = p * (dos[r] @ vb.swapaxes(2, 3) - delta) * CASE["head_dim"] ** -0.5
            dqs[r] += ds @ kb
            dk[r] += (ds.swapaxes(2, 3) @ qs[r]).sum(1, keepdims=True)
            dv[r] += (p.swapaxes(2, 3) @ dos[r]).sum(1, keepdims=True)
        hand, dk, dv = ring_shift(hand), ring_shift(dk), ring_shift(dv)
    lse = gather(lses, rows)
    return dict(out=gather(outs, rows), lse=lse, dq=gather(dqs, rows), dk=gather(dk, rows), dv=gather(dv, rows))
