# Mistake: The running sum of the weights is kept in bfloat16 and rounded after every key (and after every rescaling), instead of in full precision, so out and lse, and with them the gradients, come from a sum that swallows small weights.
import numpy as np

from case import dealt, gather, ring_shift, round_bf16, scatter, visible

CASE = dict(ranks=3, layout="striped", causal=False, window=None, cu_seqlens=None, seqlen=192, heads=2, kv_heads=2,
            head_dim=16, batch=1, dtype="bfloat16", backward=True)


def add_up(l, p):
    for j in range(p.shape[3]):
        l = round_bf16(l + p[:, :, :, j:j + 1])
    return l


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    m = [np.full(x.shape[:3] + (1,), -np.inf) for x in qs]
    l = [np.zeros_like(x) for x in m]
    acc = [np.zeros_like(x) for x in qs]
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            s = np.where(see, scale * qs[r] @ kb[r].swapaxes(2, 3), -np.inf)
            new = np.maximum(m[r], s.max(3, keepdims=True))
            p, keep = np.exp(s - new), np.exp(m[r] - new)
            l[r] = add_up(round_bf16(l[r] * keep), p)
            acc[r] = acc[r] * keep + p @ vb[r]
            m[r] = new
        kb, vb = ring_shift(kb), ring_shift(vb)
    outs = [a / b for a, b in zip(acc, l)]
    lses = [a + np.log(b) for a, b in zip(m, l)]
    deltas = [(o * d).sum(3, keepdims=True) for o, d in zip(outs, dos)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            p = np.exp(np.where(see, scale * qs[r] @ kb[r].swapaxes(2, 3), -np.inf) - lses[r])
            ds = scale * p * (dos[r] @ vb[r].swapaxes(2, 3) - deltas[r])
            dq[r] += ds @ kb[r]
            dk[r] += ds.swapaxes(2, 3) @ qs[r]
            dv[r] += p.swapaxes(2, 3) @ dos[r]
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
