# Mistake: of an earlier rank's keys only the early chunk is seen; it was cut at the length of the own early chunk. When
# the chunks are not all equal the sender's may be longer by a token, and its last key is lost.
import numpy as np

from case import dealt, gather, halves, ring_shift, scatter

CASE = dict(ranks=4, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=58, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="bfloat16", backward=True)
HALF = halves(CASE)
G = CASE["heads"] // CASE["kv_heads"]


def parts(r, src):
    if src == r:
        return slice(None), slice(None)
    if src < r:
        return slice(None), slice(HALF[r])
    return slice(HALF[r], None), slice(None)


def block(q, k, tri):
    s = q @ k.repeat(G, 1).swapaxes(2, 3) * CASE["head_dim"] ** -0.5
    if tri:
        s[..., ~np.tri(*s.shape[2:], dtype=bool)] = -np.inf
    return s


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    tall = lambda x, init: np.full(x.shape[:3] + (1,), init)
    m, z, o = [tall(x, -np.inf) for x in qs], [tall(x, 0.0) for x in qs], [np.zeros_like(x) for x in qs]
    for t in range(n):
        for r in range(n):
            src = (r - t) % n
            a, b = parts(r, src)
            s = block(qs[r][:, :, a], ks[r][:, :, b], src == r)
            new = np.maximum(m[r][:, :, a], s.max(3, keepdims=True))
            e, c = np.exp(s - new), np.exp(m[r][:, :, a] - new)
            z[r][:, :, a] = z[r][:, :, a] * c + e.sum(3, keepdims=True)
            o[r][:, :, a] = o[r][:, :, a] * c + e @ vs[r][:, :, b].repeat(G, 1)
            m[r][:, :, a] = new
        ks, vs = ring_shift(ks), ring_shift(vs)
    out, lse = [x / y for x, y in zip(o, z)], [x + np.log(y) for x, y in zip(m, z)]
    delta = [(x * y).sum(3, keepdims=True) for x, y in zip(out, dos)]
    dq, dk, dv = ([np.zeros_like(x) for x in y] for y in (qs, ks, vs))
    fold = lambda x: x.reshape(x.shape[0], -1, G, *x.shape[2:]).sum(2)
    for t in range(n):
        for r in range(n):
            src = (r - t) % n
            a, b = parts(r, src)
            qa, da, kb, vb = qs[r][:, :, a], dos[r][:, :, a], ks[r][:, :, b], vs[r][:, :, b]
            p = np.exp(block(qa, kb, src == r) - lse[r][:, :, a])
            ds = p * (da @ vb.repeat(G, 1).swapaxes(2, 3) - delta[r][:, :, a]) * CASE["head_dim"] ** -0.5
            dq[r][:, :, a] += ds @ kb.repeat(G, 1)
            dk[r][:, :, b] += fold(ds.swapaxes(2, 3) @ qa)
            dv[r][:, :, b] += fold(p.swapaxes(2, 3) @ da)
        ks, vs, dk, dv = (ring_shift(x) for x in (ks, vs, dk, dv))
    return dict(out=gather(out, rows), lse=gather(lse, rows), dq=gather(dq, rows), dk=gather(dk, rows), dv=gather(dv, rows))
