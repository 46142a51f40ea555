# Mistake: ragged ranks are padded with zeros to the longest and the padded keys are not masked: each adds exp(0) to the
# softmax of every query.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=7, layout="contiguous", causal=False, window=None, cu_seqlens=None, seqlen=64, heads=2, kv_heads=2,
            head_dim=8, batch=2, dtype="float64", backward=True)


def pad(x, length):
    return np.pad(x, ((0, 0), (0, 0), (0, length - x.shape[2]), (0, 0)))


def run(q, k, v, dout):
    n, rows, c = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    longest = max(map(len, rows))
    Q, K, V, DO = (np.stack([pad(x, longest) for x in scatter(y, rows)]) for y in (q, k, v, dout))
    real = np.stack([np.arange(longest) < len(p) for p in rows])[:, None, None, None, :]
    score = lambda kb, held: c * Q @ kb.swapaxes(-1, -2)
    m = np.full(Q.shape[:-1] + (1,), -np.inf)
    l, acc = np.zeros_like(m), np.zeros_like(Q)
    kb, vb, held = K, V, real
    for _ in range(n):
        s = score(kb, held)
        new = np.maximum(m, s.max(-1, keepdims=True))
        e = np.exp(s - new)
        l = l * np.exp(m - new) + e.sum(-1, keepdims=True)
        acc = acc * np.exp(m - new) + e @ vb
        m = new
        kb, vb, held = (np.roll(x, 1, axis=0) for x in (kb, vb, held))
    out, lse = acc / l, m + np.log(l)
    delta = (out * DO).sum(-1, keepdims=True)
    dq, dk, dv = np.zeros_like(Q), np.zeros_like(K), np.zeros_like(V)
    for _ in range(n):
        p = np.exp(score(kb, held) - lse)
        ds = c * p * (DO @ vb.swapaxes(-1, -2) - delta)
        dq += ds @ kb
        dk += ds.swapaxes(-1, -2) @ Q
        dv += p.swapaxes(-1, -2) @ DO
        kb, vb, held, dk, dv = (np.roll(x, 1, axis=0) for x in (kb, vb, held, dk, dv))
    trim = lambda X: gather([x[:, :, :len(p)] for x, p in zip(X, rows)], rows)
    return dict(out=trim(out), lse=trim(lse), dq=trim(dq), dk=trim(dk), dv=trim(dv))
