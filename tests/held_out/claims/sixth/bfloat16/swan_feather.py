# Mistake: k and v have a pair of buffers each; the swap of k's was done before the block is computed, that of v's after
# it, so the scores are of the next block's keys while values (and mask) are this one's.
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=4, layout="zigzag-token", causal=True, window=None, cu_seqlens=None, seqlen=64, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="bfloat16", backward=False)


class Pair:
    """Two buffers a rank: one to compute on, one that receives."""

    def __init__(self, parts):
        self.now, self.next = list(parts), [None] * len(parts)

    def exchange(self):
        n = len(self.now)
        for r in range(n):
            self.next[(r + 1) % n] = self.now[r]

    def swap(self):
        self.now, self.next = self.next, self.now


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    qs, K, V = scatter(q, rows), Pair(scatter(k, rows)), Pair(scatter(v, rows))
    g = CASE["heads"] // CASE["kv_heads"]
    m = [np.full(x.shape[:3] + (1,), -np.inf) for x in qs]
    z, o = [np.zeros_like(x) for x in m], [np.zeros_like(x) for x in qs]
    for t in range(n):
        K.exchange()
        V.exchange()
        K.swap()
        for r in range(n):
            kb, vb = K.now[r].repeat(g, 1), V.now[r].repeat(g, 1)
            s = np.where(visible(CASE, rows[r], rows[(r - t) % n]), scale * qs[r] @ kb.swapaxes(2, 3), -np.inf)
            new = np.maximum(m[r], s.max(3, keepdims=True))
            e, a = np.exp(s - new), np.exp(m[r] - new)
            m[r], z[r], o[r] = new, z[r] * a + e.sum(3, keepdims=True), o[r] * a + e @ vb
        V.swap()
    return dict(out=gather([a / b for a, b in zip(o, z)], rows), lse=gather([a + np.log(b) for a, b in zip(m, z)], rows))
