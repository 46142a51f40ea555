# Mistake: In the zigzag steps whose K and V come from a higher rank, the dq of the late queries is added to the rows of the early chunk, instead of to the rows of the late chunk.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=5, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=50, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float64", backward=True)
SCALE, GROUP = CASE["head_dim"] ** -0.5, CASE["heads"] // CASE["kv_heads"]


def attend(q, k, causal):
    s = SCALE * np.einsum("bhqd,bhkd->bhqk", q, k.repeat(GROUP, 1))
    if causal:
        s[:, :, ~np.tri(*s.shape[2:], dtype=bool)] = -np.inf
    return s


def forward(q, k, v, causal):
    s = attend(q, k, causal)
    lse = np.logaddexp.reduce(s, axis=3, keepdims=True)
    return np.exp(s - lse) @ v.repeat(GROUP, 1), lse


def backward(do, q, k, v, lse, delta, causal):
    p = np.exp(attend(q, k, causal) - lse)
    ds = SCALE * p * (do @ v.repeat(GROUP, 1).swapaxes(2, 3) - delta)
    fold = lambda x: x.reshape(len(x), -1, GROUP, *x.shape[2:]).sum(2)
    return ds @ k.repeat(GROUP, 1), fold(ds.swapaxes(2, 3) @ q), fold(p.swapaxes(2, 3) @ do)


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    half = len(rows[0]) // 2
    first, second = (slice(None), slice(None), slice(0, half)), (slice(None), slice(None), slice(half, None))
    outs, lses = [None] * n, [None] * n
    kb, vb = ks, vs
    for step in range(n):
        for r in range(n):
            if step == 0:
                outs[r], lses[r] = forward(qs[r], kb[r], vb[r], True)
                continue
            at, part = (slice(None), first) if step <= r else (second, slice(None))
            bo, bl = forward(qs[r][at], kb[r][part], vb[r][part], False)
            old = lses[r][at].copy()
            lses[r][at] = np.logaddexp(old, bl)
            outs[r][at] = outs[r][at] * np.exp(old - lses[r][at]) + bo * np.exp(bl - lses[r][at])
        kb, vb = ring_shift(kb), ring_shift(vb)
    deltas = [(o * d).sum(3, keepdims=True) for o, d in zip(outs, dos)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    for step in range(n):
        for r in range(n):
            if step == 0:
                a, b, c = backward(dos[r], qs[r], kb[r], vb[r], lses[r], deltas[r], True)
                dq[r] += a
                dk[r] += b
                dv[r] += c
            elif step <= r:
                a, b, c = backward(dos[r], qs[r], kb[r][first], vb[r][first], lses[r], deltas[r], False)
                dq[r] += a
                dk[r][first] += b
                dv[r][first] += c
            else:
                a, b, c = backward(dos[r][second], qs[r][second], kb[r], vb[r], lses[r][second], deltas[r][second], False)
                dq[r][first] += a
                dk[r] += b
                dv[r] += c
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
