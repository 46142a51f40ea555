# Mistake: The running lse is rounded to bfloat16 after every merge instead of being kept in float32, so the blocks are merged with wrong weights; both out and lse lose precision with every step.
import numpy as np

from case import dealt, gather, ring_shift, round_bf16, scatter, visible

CASE = dict(ranks=6, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=80, heads=8, kv_heads=4,
            head_dim=16, batch=2, dtype="bfloat16", backward=False)


def block(q, k, v, see):
    s = np.where(see, q @ k.swapaxes(2, 3) * CASE["head_dim"] ** -0.5, -np.inf)
    top = np.maximum(s.max(3, keepdims=True), -1e30)
    e = np.exp(s - top)
    l = e.sum(3, keepdims=True)
    return e @ v / np.maximum(l, 1e-30), np.where(l > 0, top + np.log(np.maximum(l, 1e-30)), -np.inf)


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    group = CASE["heads"] // CASE["kv_heads"]
    qs, ks, vs = (scatter(x.astype(np.float32), rows) for x in (q, np.repeat(k, group, 1), np.repeat(v, group, 1)))
    out, lse = [None] * n, [None] * n
    for t in range(n):
        for r in range(n):
            o, z = block(qs[r], ks[r], vs[r], visible(CASE, rows[r], rows[(r - t) % n]))
            if t == 0:
                out[r], lse[r] = o, round_bf16(z)
                continue
            new = np.logaddexp(lse[r], z)
            out[r] = np.exp(lse[r] - new) * out[r] + np.exp(z - new) * o
            lse[r] = round_bf16(new)
        ks, vs = ring_shift(ks), ring_shift(vs)
    return dict(out=gather(out, rows), lse=gather(lse, rows))
