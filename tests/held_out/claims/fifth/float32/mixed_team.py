# Mistake: hybrid of Ulysses (2) and a ring (2); there are fewer KV heads than query heads, and they are put beside the
# query heads in turns (0, 1, 0, 1) where each should serve neighbouring heads (0, 0, 1, 1).
import numpy as np

from case import visible

CASE = dict(ranks=4, layout="contiguous", causal=True, window=None, cu_seqlens=None, seqlen=64, heads=8, kv_heads=2,
            head_dim=8, batch=1, dtype="float32", backward=False)
U, R = 2, 2


def run(q, k, v, dout):
    f = q.dtype
    times = CASE["heads"] // CASE["kv_heads"]
    k, v = (np.tile(x, (1, times, 1, 1)) for x in (k, v))
    shard = {(a, b): i for i, (a, b) in enumerate((a, b) for a in range(R) for b in range(U))}
    size = CASE["seqlen"] // 4
    give = lambda x, a, b, j: np.split(x[:, :, shard[a, b] * size:(shard[a, b] + 1) * size], U, axis=1)[j]
    local = {}
    for a in range(R):
        for j in range(U):
            local[a, j] = [np.concatenate([give(x, a, b, j) for b in range(U)], axis=2) for x in (q, k, v)]
    span = [np.arange(a * U * size, (a + 1) * U * size) for a in range(R)]
    out, lse = np.zeros_like(q), np.zeros(q.shape[:3] + (1,), f)
    per = CASE["heads"] // U
    for (a, j), (Q, _, _) in local.items():
        m = l = o = None
        for t in range(R):
            src = (a - t) % R
            see = visible(CASE, span[a], span[src])
            if not see.any():
                continue
            _, K, V = local[src, j]
            s = np.where(see, (Q @ K.swapaxes(2, 3)) * f.type(CASE["head_dim"] ** -0.5), f.type(-np.inf))
            mb = s.max(-1, keepdims=True)
            p = np.exp(s - mb)
            lb, ob = p.sum(-1, keepdims=True), p @ V
            if m is None:
                m, l, o = mb, lb, ob
            else:
                top = np.maximum(m, mb)
                x, y = np.exp(m - top), np.exp(mb - top)
                m, l, o = top, l * x + lb * y, o * x + ob * y
        out[:, j * per:(j + 1) * per, span[a]] = o / l
        lse[:, j * per:(j + 1) * per, span[a]] = m + np.log(l)
    return dict(out=out, lse=lse)
