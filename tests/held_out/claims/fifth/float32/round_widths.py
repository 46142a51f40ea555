# Mistake: heads of 12 numbers are padded with zeros to 16 for the kernel, and the scale is taken from the padded width:
# 1 / sqrt(16) in place of 1 / sqrt(12), in the forward pass and in the backward pass.
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=3, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=31, heads=2, kv_heads=2,
            head_dim=12, batch=1, dtype="float32", backward=True)
LANES = 16


def pad(x):
    return np.concatenate([x, np.zeros(x.shape[:3] + (LANES - x.shape[3],), x.dtype)], axis=3)


class Kernel:
    def __init__(self, width):
        self.scale = np.float32(1 / np.sqrt(width))

    def logits(self, q, k, see):
        return np.where(see, np.matmul(q, k.swapaxes(2, 3)) * self.scale, np.float32(-np.inf))

    def forward(self, q, blocks):
        m = np.full(q.shape[:3] + (1,), -np.inf, np.float32)
        l, o = np.zeros_like(m), np.zeros_like(q)
        for k, v, see in blocks:
            s = self.logits(q, k, see)
            new = np.maximum(m, s.max(3, keepdims=True))
            ref = np.where(np.isneginf(new), np.float32(0), new)
            p, c = np.exp(s - ref), np.exp(m - ref)
            m, l, o = new, l * c + p.sum(3, keepdims=True), o * c + p @ v
        return o / l, m + np.log(l)

    def backward(self, q, k, v, see, o, e, g):
        p = np.exp(self.logits(q, k, see) - e)
        ds = p * (g @ v.swapaxes(2, 3) - (o * g).sum(3, keepdims=True)) * self.scale
        return ds @ k, ds.swapaxes(2, 3) @ q, p.swapaxes(2, 3) @ g


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    Q, K, V, G = ([pad(x) for x in scatter(y, rows)] for y in (q, k, v, dout))
    kernel = Kernel(Q[0].shape[-1])
    order = lambda r: [(r - t) % n for t in range(n)]
    fw = [kernel.forward(Q[r], [(K[s], V[s], visible(CASE, rows[r], rows[s])) for s in order(r)]) for r in range(n)]
    dq, dk, dv = ([np.zeros_like(x) for x in y] for y in (Q, K, V))
    for t in range(n):
        for r in range(n):
            s = (r - t) % n
            a, b, c = kernel.backward(Q[r], K[s], V[s], visible(CASE, rows[r], rows[s]), *fw[r], G[r])
            dq[r] += a
            dk[s] += b
            dv[s] += c
    trim = lambda xs: gather([x[..., :CASE["head_dim"]] for x in xs], rows)
    return dict(out=trim([o for o, _ in fw]), lse=gather([e for _, e in fw], rows), dq=trim(dq), dk=trim(dk), dv=trim(dv))
