# Mistake: at a step whose block is skipped as invisible the rank sends the dk and dv sums of the step before once more, instead of handing on the sums that have just arrived.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=5, layout="contiguous", causal=True, window=None, cu_seqlens=None, seqlen=50, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float32", backward=True)
N, SCALE = CASE["ranks"], CASE["head_dim"] ** -0.5


def scores(q, k, own):
    s = SCALE * np.einsum("bcgqd,bckd->bcgqk", q, k)
    if own:
        s = s + np.triu(np.full(s.shape[-2:], -np.inf, s.dtype), 1)
    return s


def run(q, k, v, dout):
    rows = dealt(CASE)
    C = CASE["kv_heads"]
    grouped = lambda x: x.reshape(x.shape[0], C, -1, x.shape[2], x.shape[3])
    qs, dos = [grouped(x) for x in scatter(q, rows)], [grouped(x) for x in scatter(dout, rows)]
    ks, vs = scatter(k, rows), scatter(v, rows)

    out, lse = [None] * N, [None] * N
    for r in range(N):
        for src in range(r, -1, -1):
            s = scores(qs[r], ks[src], src == r)
            top = s.max(-1, keepdims=True)
            e = np.exp(s - top)
            o = np.einsum("bcgqk,bckd->bcgqd", e, vs[src]) / e.sum(-1, keepdims=True)
            x = top + np.log(e.sum(-1, keepdims=True))
            if src < r:
                both = np.logaddexp(lse[r], x)
                o, x = out[r] * np.exp(lse[r] - both) + o * np.exp(x - both), both
            out[r], lse[r] = o, x

    dq = [np.zeros_like(x) for x in qs]
    arrived = [(np.zeros_like(a), np.zeros_like(b)) for a, b in zip(ks, vs)]
    outgoing = [None] * N
    for t in range(N):
        for r in range(N):
            src = (r - t) % N
            if src > r:
                continue
            p = np.exp(scores(qs[r], ks[src], src == r) - lse[r])
            dp = np.einsum("bcgqd,bckd->bcgqk", dos[r], vs[src])
            ds = SCALE * p * (dp - (dos[r] * out[r]).sum(-1, keepdims=True))
            dq[r] += np.einsum("bcgqk,bckd->bcgqd", ds, ks[src])
            outgoing[r] = (arrived[r][0] + np.einsum("bcgqk,bcgqd->bckd", ds, qs[r]),
                           arrived[r][1] + np.einsum("bcgqk,bcgqd->bckd", p, dos[r]))
        arrived = ring_shift(outgoing)
    dk, dv = zip(*arrived)
    full = lambda xs: gather([x.reshape(x.shape[0], -1, x.shape[3], x.shape[4]) for x in xs], rows)
    return dict(out=full(out), lse=full(lse), dq=full(dq), dk=gather(dk, rows), dv=gather(dv, rows))
