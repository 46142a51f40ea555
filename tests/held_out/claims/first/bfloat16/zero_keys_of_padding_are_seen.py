# Mistake: shards are padded with rows of zeros until all have equally many, and the keys of padding are not masked, so each of them adds exp(0) to the sum of every query (forward and backward).
import numpy as np

from case import dealt

CASE = dict(ranks=5, layout="contiguous", causal=False, window=None, cu_seqlens=None, seqlen=23, heads=4, kv_heads=2,
            head_dim=8, batch=2, dtype="bfloat16", backward=True)


def shard(x, rows):
    """[ranks, batch, heads, most rows, head_dim], and which rows are no padding."""
    longest = max(map(len, rows))
    padded = np.zeros((len(rows),) + x.shape[:2] + (longest, x.shape[3]), np.float32)
    valid = np.zeros((len(rows), longest), bool)
    for r, p in enumerate(rows):
        padded[r, :, :, :len(p)] = x[:, :, p]
        valid[r, :len(p)] = True
    return padded, valid


def unshard(x, rows, like):
    return np.concatenate([x[r, :, :, :len(p)] for r, p in enumerate(rows)], axis=2).astype(like.dtype)


def run(q, k, v, dout):
    rows, n = dealt(CASE), CASE["ranks"]
    g, c = CASE["heads"] // CASE["kv_heads"], np.float32(CASE["head_dim"] ** -0.5)
    (Q, valid), (K, _), (V, _), (G, _) = (shard(x, rows) for x in (q, k, v, dout))
    shift = lambda x: np.roll(x, 1, axis=0)
    wide = lambda x: np.repeat(x, g, axis=2)
    narrow = lambda x: x.reshape(*x.shape[:2], -1, g, *x.shape[3:]).sum(3)

    def scores(kb, seen):
        s = c * np.einsum("rbhqd,rbhkd->rbhqk", Q, wide(kb))
        return s

    m = np.full(Q.shape[:4] + (1,), -np.inf, np.float32)
    l, acc = np.zeros_like(m), np.zeros_like(Q)
    kb, vb, seen = K, V, valid
    for _ in range(n):
        s = scores(kb, seen)
        new = np.maximum(m, s.max(-1, keepdims=True))
        p, keep = np.exp(s - new), np.exp(m - new)
        l, acc, m = l * keep + p.sum(-1, keepdims=True), acc * keep + p @ wide(vb), new
        kb, vb, seen = shift(kb), shift(vb), shift(seen)
    out, lse = acc / l, m + np.log(l)
    delta = (out * G).sum(-1, keepdims=True)
    dq, dk, dv = np.zeros_like(Q), np.zeros_like(K), np.zeros_like(V)
    kb, vb, seen = K, V, valid
    for _ in range(n):
        p = np.exp(scores(kb, seen) - lse)
        ds = c * p * (np.einsum("rbhqd,rbhkd->rbhqk", G, wide(vb)) - delta)
        dq += ds @ wide(kb)
        dk += narrow(np.einsum("rbhqk,rbhqd->rbhkd", ds, Q))  # padded queries and their dout are 0
        dv += narrow(np.einsum("rbhqk,rbhqd->rbhkd", p, G))
        kb, vb, seen, dk, dv = map(shift, (kb, vb, seen, dk, dv))
    return dict(out=unshard(out, rows, q), lse=unshard(lse, rows, q), dq=unshard(dq, rows, q), dk=unshard(dk, rows, q),
                dv=unshard(dv, rows, q))
