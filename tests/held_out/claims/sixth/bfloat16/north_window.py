# Mistake: the first token of a rank was taken to be rank * ceil(S / ranks); when S does not divide, the later ranks hold
# one token less and start earlier than that.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=5, layout="contiguous", causal=True, window=16, cu_seqlens=None, seqlen=62, heads=2, kv_heads=2,
            head_dim=8, batch=2, dtype="bfloat16", backward=False)


def first_token(rank):
    n, S = CASE["ranks"], CASE["seqlen"]
    return rank * -(-S // n)


def bias(me, src, nq, nk):
    i = first_token(me) + np.arange(nq)[:, None]
    j = first_token(src) + np.arange(nk)[None, :]
    return np.where((j <= i) & (i - j <= CASE["window"]), 0.0, -np.inf)


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    qs, kv = scatter(q, rows), list(zip(scatter(k, rows), scatter(v, rows)))
    out = [np.zeros_like(x) for x in qs]
    lse = [np.full(x.shape[:3] + (1,), -np.inf) for x in qs]
    for t in range(n):
        for r in range(t, n):
            kb, vb = kv[r]
            s = qs[r] @ kb.swapaxes(2, 3) * CASE["head_dim"] ** -0.5 + bias(r, r - t, qs[r].shape[2], kb.shape[2])
            bl = np.logaddexp.reduce(s, axis=3, keepdims=True)
            new = np.logaddexp(lse[r], bl)
            out[r] = out[r] * np.exp(lse[r] - new) + np.exp(s - new) @ vb
            lse[r] = new
        kv = ring_shift(kv)
    return dict(out=gather(out, rows), lse=gather(lse, rows))
