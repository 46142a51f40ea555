# Mistake: the left side of the window is tested on row numbers within the shards of queries and keys instead of on positions in the sequence; the causal side is by position (forward and backward).
import numpy as np

from case import dealt, gather, ring_shift, round_bf16, scatter

CASE = dict(ranks=2, layout="contiguous", causal=False, window=9, cu_seqlens=None, seqlen=29, heads=6, kv_heads=2,
            head_dim=16, batch=1, dtype="bfloat16", backward=True)


def block_mask(nq, nk, causal, left):
    i, j = np.ogrid[:nq, :nk]
    far = i - j > left
    return ~far & (j <= i) if causal else ~far


def run(q, k, v, dout):
    rows, n = dealt(CASE), CASE["ranks"]
    times, scale = CASE["heads"] // CASE["kv_heads"], CASE["head_dim"] ** -0.5
    qs, ks, vs, gs = (scatter(x, rows) for x in (q, k, v, dout))

    def scores(r, kb, t):
        offset = rows[r][0] - rows[r - t][0]
        see = block_mask(len(rows[r]), kb.shape[2], t == 0, CASE["window"])
        return np.where(see, scale * (qs[r] @ kb.repeat(times, 1).swapaxes(2, 3)), -np.inf)

    m = [np.full(x.shape[:3] + (1,), -np.inf) for x in qs]
    l, acc = [np.zeros_like(x) for x in m], [np.zeros_like(x) for x in qs]
    kv = list(zip(ks, vs))
    for t in range(n):
        for r in range(t, n):
            s = scores(r, kv[r][0], t)
            new = np.maximum(m[r], s.max(3, keepdims=True))
            p, keep = np.exp(s - new), np.exp(m[r] - new)
            l[r] = keep * l[r] + p.sum(3, keepdims=True)
            acc[r] = keep * acc[r] + round_bf16(p) @ kv[r][1].repeat(times, 1)
            m[r] = new
        kv = ring_shift(kv)
    out = [round_bf16(a / b) for a, b in zip(acc, l)]
    lse = [a + np.log(b) for a, b in zip(m, l)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    kv = list(zip(ks, vs))
    for t in range(n):
        for r in range(t, n):
            kk, vv = (x.repeat(times, 1) for x in kv[r])
            p = np.exp(scores(r, kv[r][0], t) - lse[r])
            ds = p * (gs[r] @ vv.swapaxes(2, 3) - (gs[r] * out[r]).sum(3, keepdims=True))
            sum_heads = lambda x: x.reshape(len(x), -1, times, *x.shape[2:]).sum(2)
            dq[r] += scale * round_bf16(ds) @ kk
            dk[r] += scale * sum_heads(round_bf16(ds).swapaxes(2, 3) @ qs[r])
            dv[r] += sum_heads(round_bf16(p).swapaxes(2, 3) @ gs[r])
        kv, dk, dv = ring_shift(kv), ring_shift(dk), ring_shift(dv)
    return dict(out=gather(out, rows), lse=gather(lse, rows), dq=gather(dq, rows), dk=gather(dk, rows), dv=gather(dv, rows))
