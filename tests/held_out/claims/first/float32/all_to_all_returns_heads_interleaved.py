# Mistake: 2 x 2 devices, heads dealt to 2 columns by all-to-all and tokens to rings of 2; on the way back out, dq, dk and dv get their heads as (head in the column, column) instead of (column, head in the column); lse is in the right order.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=2, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=37, heads=8, kv_heads=4,
            head_dim=6, batch=2, dtype="float32", backward=True)
COLUMNS = 2


def scatter_heads(x):
    return np.split(x, COLUMNS, axis=1)


def gather_heads(columns):
    b, h, s, d = columns[0].shape
    return np.stack(columns, axis=2).reshape(b, COLUMNS * h, s, d)


def ring(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    g, c = q.shape[1] // k.shape[1], CASE["head_dim"] ** -0.5
    Q, K, V, G = (scatter(x, rows) for x in (q, k, v, dout))
    R = lambda x: x.repeat(g, 1)
    T = lambda x: x.transpose(0, 1, 3, 2)
    F = lambda x: x.reshape(x.shape[0], -1, g, *x.shape[2:]).sum(2)

    def S(r, key, t):
        return np.where(visible(CASE, rows[r], rows[(r - t) % n]), c * (Q[r] @ T(R(key))), -np.inf).astype(q.dtype)

    m = [np.full(x.shape[:3] + (1,), -np.inf, x.dtype) for x in Q]
    z, a = [np.zeros_like(x) for x in m], [np.zeros_like(x) for x in Q]
    kb, vb = K, V
    for t in range(n):
        for r in range(n):
            s = S(r, kb[r], t)
            top = np.maximum(m[r], s.max(3, keepdims=True))
            base = np.where(np.isinf(top), np.float32(0), top)
            e, f = np.exp(s - base), np.exp(m[r] - base)
            m[r], z[r], a[r] = top, z[r] * f + e.sum(3, keepdims=True), a[r] * f + e @ R(vb[r])
        kb, vb = ring_shift(kb), ring_shift(vb)
    out, lse = [x / y for x, y in zip(a, z)], [x + np.log(y) for x, y in zip(m, z)]
    delta = [(x * y).sum(3, keepdims=True) for x, y in zip(out, G)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (Q, K, V))
    kb, vb = K, V
    for t in range(n):
        for r in range(n):
            p = np.exp(S(r, kb[r], t) - lse[r])
            ds = c * p * (G[r] @ T(R(vb[r])) - delta[r])
            dq[r] += ds @ R(kb[r])
            dk[r] += F(T(ds) @ Q[r])
            dv[r] += F(T(p) @ G[r])
        kb, vb, dk, dv = ring_shift(kb), ring_shift(vb), ring_shift(dk), ring_shift(dv)
    return [gather(x, rows) for x in (out, lse, dq, dk, dv)]


def run(q, k, v, dout):
    columns = [ring(*parts) for parts in zip(*(scatter_heads(x) for x in (q, k, v, dout)))]
    out, lse, dq, dk, dv = zip(*columns)
    return dict(out=gather_heads(out), lse=np.concatenate(lse, axis=1), dq=gather_heads(dq), dk=gather_heads(dk),
                dv=gather_heads(dv))
