# Mistake: the all-gather brings the keys in the order of the ranks, each an early and a late chunk; the causal mask takes
# them to be in the order of the sequence.
import numpy as np

from case import dealt, gather, scatter

CASE = dict(ranks=4, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=64, heads=4, kv_heads=2,
            head_dim=8, batch=2, dtype="float32", backward=False)


def all_gather(parts):
    return np.concatenate(parts, axis=2)


def run(q, k, v, dout):
    rows = dealt(CASE)
    K, V = all_gather(scatter(k, rows)), all_gather(scatter(v, rows))
    g = CASE["heads"] // CASE["kv_heads"]
    key_at = np.arange(CASE["seqlen"])
    outs, lses = [], []
    for p, qr in zip(rows, scatter(q, rows)):
        out, lse = np.empty_like(qr), np.empty(qr.shape[:3] + (1,), qr.dtype)
        for h in range(CASE["heads"]):
            s = qr[:, h] @ K[:, h // g].transpose(0, 2, 1) / np.float32(np.sqrt(CASE["head_dim"]))
            s = np.where(key_at <= p[:, None], s, np.float32(-np.inf))
            top = s.max(-1, keepdims=True)
            e = np.exp(s - top)
            z = e.sum(-1, keepdims=True)
            out[:, h], lse[:, h] = e / z @ V[:, h // g], top + np.log(z)
        outs.append(out)
        lses.append(lse)
    return dict(out=gather(outs, rows), lse=gather(lses, rows))
