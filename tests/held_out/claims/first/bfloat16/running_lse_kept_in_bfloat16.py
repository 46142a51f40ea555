# Mistake: the running lse is kept in bfloat16 between the steps instead of float32, and every merge takes its weights from the rounded one; the backward pass uses it, too.
import numpy as np

from case import dealt, gather, ring_shift, round_bf16, scatter

CASE = dict(ranks=6, layout="striped", causal=False, window=None, cu_seqlens=None, seqlen=191, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="bfloat16", backward=True)
LSE_DTYPE = "bfloat16"


def keep(lse):
    return round_bf16(lse) if LSE_DTYPE == "bfloat16" else lse


def block_forward(q, k, v, scale):
    s = scale * q @ k.swapaxes(2, 3)
    m = s.max(3, keepdims=True)
    p = np.exp(s - m)
    z = p.sum(3, keepdims=True)
    return p @ v / z, m + np.log(z)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), np.float32(CASE["head_dim"] ** -0.5)
    group = CASE["heads"] // CASE["kv_heads"]
    Q, K, V, G = (scatter(x.astype(np.float32), rows) for x in (q, k, v, dout))
    up = lambda x: np.repeat(x, group, axis=1)
    down = lambda x: x.reshape(x.shape[0], -1, group, *x.shape[2:]).sum(2)
    out, lse = [None] * n, [None] * n
    kb, vb = K, V
    for t in range(n):
        for r in range(n):
            o, s = block_forward(Q[r], up(kb[r]), up(vb[r]), scale)
            if t == 0:
                out[r], lse[r] = o, keep(s)
                continue
            new = keep(np.logaddexp(lse[r], s))
            out[r] = np.exp(lse[r] - new) * out[r] + np.exp(s - new) * o
            lse[r] = new
        kb, vb = ring_shift(kb), ring_shift(vb)
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (Q, K, V))
    kb, vb = K, V
    for t in range(n):
        for r in range(n):
            p = np.exp(scale * Q[r] @ up(kb[r]).swapaxes(2, 3) - lse[r])
            ds = scale * p * (G[r] @ up(vb[r]).swapaxes(2, 3) - (G[r] * out[r]).sum(3, keepdims=True))
            dq[r] += ds @ up(kb[r])
            dk[r] = dk[r] + down(ds.swapaxes(2, 3) @ Q[r])
            dv[r] = dv[r] + down(p.swapaxes(2, 3) @ G[r])
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return {name: gather(x, rows).astype(q.dtype)
            for name, x in (("out", out), ("lse", lse), ("dq", dq), ("dk", dk), ("dv", dv))}
