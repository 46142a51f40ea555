# Mistake: zigzag, keys from a later rank: only the late half of the queries takes part, and its dq is assigned, not added
# to what the earlier steps had left there.
import numpy as np

from case import dealt, gather, halves, ring_shift, scatter

CASE = dict(ranks=4, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=64, heads=2, kv_heads=2,
            head_dim=16, batch=1, dtype="float32", backward=True)
SCALE = np.float32(CASE["head_dim"] ** -0.5)


def sc(q, k, causal):
    s = SCALE * np.einsum("bhqd,bhkd->bhqk", q, k)
    return np.where(np.tri(*s.shape[2:], dtype=bool), s, np.float32(-np.inf)) if causal else s


def fwd(q, k, v, causal):
    s = sc(q, k, causal)
    m = s.max(-1, keepdims=True)
    z = np.exp(s - m).sum(-1, keepdims=True)
    return np.exp(s - m) @ v / z, m + np.log(z)


def bwd(do, q, k, v, lse, delta, causal):
    p = np.exp(sc(q, k, causal) - lse)
    ds = p * (do @ v.swapaxes(2, 3) - delta) * SCALE
    return ds @ k, ds.swapaxes(2, 3) @ q, p.swapaxes(2, 3) @ do


def pair(r, src, half):
    """Of rank r's queries and src's keys those that matter, and whether the block is triangular."""
    if src == r:
        return slice(None), slice(None), True
    if src < r:
        return slice(None), slice(0, half[src]), False
    return slice(half[r], None), slice(None), False


def run(q, k, v, dout):
    n, rows, half = CASE["ranks"], dealt(CASE), halves(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    out = [np.zeros_like(x) for x in qs]
    lse = [np.full(x.shape[:3] + (1,), -np.inf, np.float32) for x in qs]
    for t in range(n):
        for r in range(n):
            a, b, tri = pair(r, (r - t) % n, half)
            o, l = fwd(qs[r][:, :, a], ks[r][:, :, b], vs[r][:, :, b], tri)
            was = lse[r][:, :, a].copy()
            now = np.logaddexp(was, l)
            out[r][:, :, a] = out[r][:, :, a] * np.exp(was - now) + o * np.exp(l - now)
            lse[r][:, :, a] = now
        ks, vs = ring_shift(ks), ring_shift(vs)
    delta = [(a * b).sum(3, keepdims=True) for a, b in zip(out, dos)]
    dq, dk, dv = ([np.zeros_like(x) for x in y] for y in (qs, ks, vs))
    for t in range(n):
        for r in range(n):
            src = (r - t) % n
            a, b, tri = pair(r, src, half)
            x, y, w = bwd(dos[r][:, :, a], qs[r][:, :, a], ks[r][:, :, b], vs[r][:, :, b], lse[r][:, :, a], delta[r][:, :, a], tri)
            if src <= r:
                dq[r] += x
            else:
                dq[r][:, :, half[r]:] = x
            dk[r][:, :, b] += y
            dv[r][:, :, b] += w
        ks, vs, dk, dv = (ring_shift(g) for g in (ks, vs, dk, dv))
    return dict(out=gather(out, rows), lse=gather(lse, rows), dq=gather(dq, rows), dk=gather(dk, rows), dv=gather(dv, rows))
