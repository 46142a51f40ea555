# Mistake: In the zigzag steps whose K and V come from a lower rank, the keys of that rank's early chunk are paired with the values of its late chunk (forward, and dv in the backward), instead of with the values of its early chunk.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=4, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=48, heads=4, kv_heads=4,
            head_dim=8, batch=1, dtype="float64", backward=True)
SCALE = CASE["head_dim"] ** -0.5


def scores(q, k, causal):
    s = SCALE * q @ k.swapaxes(2, 3)
    return np.where(np.tri(s.shape[2], s.shape[3], dtype=bool), s, -np.inf) if causal else s


def block_forward(q, k, v, causal):
    s = scores(q, k, causal)
    top = s.max(3, keepdims=True)
    p = np.exp(s - top)
    l = p.sum(3, keepdims=True)
    return p @ v / l, top + np.log(l)


def block_backward(do, q, k, v, lse, delta, causal):
    p = np.exp(scores(q, k, causal) - lse)
    ds = SCALE * p * (do @ v.swapaxes(2, 3) - delta)
    return ds @ k, ds.swapaxes(2, 3) @ q, p.swapaxes(2, 3) @ do


def merge(out, lse, b_out, b_lse):
    new = np.logaddexp(lse, b_lse)
    return out * np.exp(lse - new) + b_out * np.exp(b_lse - new), new


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    h = len(rows[0]) // 2
    early, late = np.s_[:, :, :h], np.s_[:, :, h:]
    outs, lses = [None] * n, [None] * n
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            if t == 0:
                outs[r], lses[r] = block_forward(qs[r], kb[r], vb[r], True)
            elif t <= r:
                o, e = block_forward(qs[r], kb[r][early], vb[r][late], False)
                outs[r], lses[r] = merge(outs[r], lses[r], o, e)
            else:
                o, e = block_forward(qs[r][late], kb[r], vb[r], False)
                outs[r][late], lses[r][late] = merge(outs[r][late], lses[r][late], o, e)
        kb, vb = ring_shift(kb), ring_shift(vb)
    deltas = [(o * d).sum(3, keepdims=True) for o, d in zip(outs, dos)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            if t == 0:
                a, b, c = block_backward(dos[r], qs[r], kb[r], vb[r], lses[r], deltas[r], True)
                dq[r] += a
                dk[r] += b
                dv[r] += c
            elif t <= r:
                a, b, c = block_backward(dos[r], qs[r], kb[r][early], vb[r][late], lses[r], deltas[r], False)
                dq[r] += a
                dk[r][early] += b
                dv[r][late] += c
            else:
                a, b, c = block_backward(dos[r][late], qs[r][late], kb[r], vb[r], lses[r][late], deltas[r][late], False)
                dq[r][late] += a
                dk[r] += b
                dv[r] += c
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
