# Mistake: The document labels of the keys do not travel with K and V: the keys received from another rank are given the document labels of the own rows, row by row, instead of the labels of their own tokens; the causal comparison uses the true positions (forward and backward).
import numpy as np

from case import dealt, documents, gather, ring_shift, scatter

CASE = dict(ranks=3, layout="zigzag-token", causal=True, window=None, cu_seqlens=[0, 13, 20, 42], seqlen=42, heads=4,
            kv_heads=2, head_dim=8, batch=1, dtype="float32", backward=True)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    group = CASE["heads"] // CASE["kv_heads"]
    wide = lambda x: np.repeat(x, group, axis=1)
    narrow = lambda x: x.reshape(x.shape[0], -1, group, *x.shape[2:]).sum(2)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    qdoc = [documents(CASE)[p] for p in rows]
    kdoc = qdoc

    def hidden(r, kpos):
        return ~((qdoc[r][:, None] == kdoc[r][None, :]) & (rows[r][:, None] >= kpos[None, :]))

    m = [np.full(x.shape[:3] + (1,), -np.inf, x.dtype) for x in qs]
    l = [np.zeros_like(x) for x in m]
    acc = [np.zeros_like(x) for x in qs]
    kb, vb, pos = ks, vs, rows
    for _ in range(n):
        for r in range(n):
            s = scale * qs[r] @ wide(kb[r]).swapaxes(2, 3)
            s[:, :, hidden(r, pos[r])] = -np.inf
            new = np.maximum(m[r], s.max(3, keepdims=True))
            p, keep = np.exp(s - new), np.exp(m[r] - new)
            m[r], l[r], acc[r] = new, l[r] * keep + p.sum(3, keepdims=True), acc[r] * keep + p @ wide(vb[r])
        kb, vb, pos = ring_shift(kb), ring_shift(vb), ring_shift(pos)
    outs = [a / b for a, b in zip(acc, l)]
    lses = [a + np.log(b) for a, b in zip(m, l)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    for _ in range(n):
        for r in range(n):
            s = scale * qs[r] @ wide(kb[r]).swapaxes(2, 3)
            s[:, :, hidden(r, pos[r])] = -np.inf
            p = np.exp(s - lses[r])
            ds = scale * p * (dos[r] @ wide(vb[r]).swapaxes(2, 3) - (outs[r] * dos[r]).sum(3, keepdims=True))
            dq[r] += ds @ wide(kb[r])
            dk[r] += narrow(ds.swapaxes(2, 3) @ qs[r])
            dv[r] += narrow(p.swapaxes(2, 3) @ dos[r])
        kb, vb, pos, dk, dv = (ring_shift(x) for x in (kb, vb, pos, dk, dv))
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
