# Mistake: For blocks that came from another rank the softmax weights p are rounded to bfloat16 before they are multiplied with v, although everything is meant in float32; the own block's weights, l and lse stay in float32.
import numpy as np

from case import dealt, gather, ring_shift, round_bf16, scatter

CASE = dict(ranks=5, layout="contiguous", causal=False, window=None, cu_seqlens=None, seqlen=63, heads=6, kv_heads=3,
            head_dim=16, batch=2, dtype="float32", backward=False)


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    group, scale = CASE["heads"] // CASE["kv_heads"], CASE["head_dim"] ** -0.5
    outs, lses = [], []
    held = list(zip(scatter(k, rows), scatter(v, rows)))
    journeys = []
    for t in range(n):
        journeys.append(held)
        held = ring_shift(held)
    for r, x in enumerate(scatter(q, rows)):
        m = l = acc = None
        for t in range(n):
            kb, vb = (np.repeat(y, group, axis=1) for y in journeys[t][r])
            s = scale * np.matmul(x, kb.transpose(0, 1, 3, 2))
            new = s.max(3, keepdims=True) if m is None else np.maximum(m, s.max(3, keepdims=True))
            p = np.exp(s - new)
            weights = p if t == 0 else round_bf16(p)
            if m is None:
                l, acc = p.sum(3, keepdims=True), weights @ vb
            else:
                keep = np.exp(m - new)
                l, acc = l * keep + p.sum(3, keepdims=True), acc * keep + weights @ vb
            m = new
        outs.append(acc / l)
        lses.append(m + np.log(l))
    return dict(out=gather(outs, rows), lse=gather(lses, rows))
