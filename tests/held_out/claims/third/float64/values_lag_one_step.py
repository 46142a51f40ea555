# Mistake: From step 1 on the values lag one hop behind the keys: at step t the weights of the keys of rank r - t are multiplied with the values of rank r - t + 1 (the second v buffer is read before its receive is waited for); only out is wrong, lse is right.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="zigzag-token", causal=True, window=None, cu_seqlens=None, seqlen=64, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float64", backward=False)


class Flight:
    """A tensor on its way round the ring, with two buffers: one to read, one to receive into."""

    def __init__(self, shards):
        self.here, self.coming = shards, None

    def post(self):
        self.coming = ring_shift(self.here)

    def wait(self):
        if self.coming is not None:
            self.here, self.coming = self.coming, None


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    group = CASE["heads"] // CASE["kv_heads"]
    qs = scatter(q, rows)
    keys, values = Flight(scatter(k, rows)), Flight(scatter(v, rows))
    num = [np.zeros_like(x) for x in qs]
    den = [np.zeros(x.shape[:3] + (1,)) for x in qs]
    top = [np.full(x.shape[:3] + (1,), -np.inf) for x in qs]
    for t in range(n):
        keys.wait()
        keys.post()
        for r in range(n):
            s = qs[r] @ keys.here[r].repeat(group, 1).swapaxes(2, 3) / np.sqrt(q.shape[-1])
            s[..., ~visible(CASE, rows[r], rows[(r - t) % n])] = -np.inf
            new = np.maximum(top[r], s.max(3, keepdims=True))
            p, keep = np.exp(s - new), np.exp(top[r] - new)
            num[r] = num[r] * keep + p @ values.here[r].repeat(group, 1)
            den[r] = den[r] * keep + p.sum(3, keepdims=True)
            top[r] = new
        values.wait()
        values.post()
    return dict(out=gather([a / b for a, b in zip(num, den)], rows),
                lse=gather([a + np.log(b) for a, b in zip(top, den)], rows))
