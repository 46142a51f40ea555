# Mistake: a block is skipped when the document of its first key is not that of the rank's first query, though later rows
# may share one. And dq, whose scale the kernel leaves to its caller, is returned without it.
import numpy as np

from case import dealt, documents, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="contiguous", causal=True, window=None, cu_seqlens=[0, 9, 41, 55, 80], seqlen=80, heads=4,
            kv_heads=2, head_dim=8, batch=1, dtype="float32", backward=True)
ninf = np.float32(-np.inf)


def disjoint(doc, a, b):
    return doc[a[0]] != doc[b[0]]


def run(q, k, v, dout):
    n, rows, doc = CASE["ranks"], dealt(CASE), documents(CASE)
    scale, g = np.float32(CASE["head_dim"] ** -0.5), CASE["heads"] // CASE["kv_heads"]
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    up = lambda x: x.repeat(g, axis=1)
    down = lambda x: x.reshape(x.shape[0], -1, g, *x.shape[2:]).sum(axis=2)
    needed = [[(r - t) % n for t in range(n) if r >= t and not disjoint(doc, rows[r], rows[(r - t) % n])] for r in range(n)]
    out, lse = [], []
    for r in range(n):
        tiles = [np.where(visible(CASE, rows[r], rows[j]), scale * qs[r] @ up(ks[j]).swapaxes(2, 3), ninf) for j in needed[r]]
        top = np.maximum.reduce([s.max(3, keepdims=True) for s in tiles])
        z = sum(np.exp(s - top).sum(3, keepdims=True) for s in tiles)
        out.append(sum(np.exp(s - top) @ up(vs[j]) for s, j in zip(tiles, needed[r])) / z)
        lse.append(top + np.log(z))
    dq, dk, dv = ([np.zeros_like(x) for x in y] for y in (qs, ks, vs))
    for t in range(n):
        for r in range(n):
            j = (r - t) % n
            if j in needed[r]:
                p = np.exp(np.where(visible(CASE, rows[r], rows[j]), scale * qs[r] @ up(ks[r]).swapaxes(2, 3), ninf) - lse[r])
                ds = p * (dos[r] @ up(vs[r]).swapaxes(2, 3) - (dos[r] * out[r]).sum(3, keepdims=True))
                dq[r] += ds @ up(ks[r])
                dk[r] += scale * down(ds.swapaxes(2, 3) @ qs[r])
                dv[r] += down(p.swapaxes(2, 3) @ dos[r])
        ks, vs, dk, dv = ring_shift(ks), ring_shift(vs), ring_shift(dk), ring_shift(dv)
    return dict(out=gather(out, rows), lse=gather(lse, rows), dq=gather(dq, rows), dk=gather(dk, rows), dv=gather(dv, rows))
