# Mistake: to fold the query heads' gradients into their key heads, heads was split as (group, kv_heads)
# where the forward's repeat has laid them out as (kv_heads, group).
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=3, layout="zigzag-token", causal=True, window=None, cu_seqlens=None, seqlen=40, heads=6, kv_heads=2,
            head_dim=8, batch=2, dtype="float64", backward=True)
HQ, HK = CASE["heads"], CASE["kv_heads"]
G = HQ // HK


def expand(x):
    return np.broadcast_to(x[:, :, None], (x.shape[0], HK, G) + x.shape[2:]).reshape(x.shape[0], HQ, *x.shape[2:])


def reduce_groups(x):
    b, _, t, d = x.shape
    return x.reshape(b, G, HK, t, d).sum(axis=1)


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    sc = 1 / np.sqrt(CASE["head_dim"])
    q, k, v, do = (scatter(x, rows) for x in (q, k, v, dout))
    masks = [[visible(CASE, a, b) for b in rows] for a in rows]
    out, lse = [], []
    for r in range(n):
        num, den = 0.0, 0.0
        top = np.max([np.where(masks[r][j], sc * q[r] @ expand(k[j]).swapaxes(2, 3), -np.inf).max(3) for j in range(n)], axis=0)
        for t in range(n):
            j = (r - t) % n
            e = np.exp(np.where(masks[r][j], sc * q[r] @ expand(k[j]).swapaxes(2, 3), -np.inf) - top[..., None])
            num, den = num + e @ expand(v[j]), den + e.sum(3)
        out.append(num / den[..., None])
        lse.append((top + np.log(den))[..., None])
    dq = [np.zeros_like(x) for x in q]
    parcel = [[k[r], v[r], np.zeros_like(k[r]), np.zeros_like(v[r])] for r in range(n)]
    for t in range(n):
        for r, (kb, vb, dk, dv) in enumerate(parcel):
            p = np.exp(np.where(masks[r][(r - t) % n], sc * q[r] @ expand(kb).swapaxes(2, 3), -np.inf) - lse[r])
            dp = do[r] @ expand(vb).swapaxes(2, 3)
            ds = sc * p * (dp - (do[r] * out[r]).sum(3, keepdims=True))
            dq[r] += ds @ expand(kb)
            dk += reduce_groups(ds.swapaxes(2, 3) @ q[r])
            dv += reduce_groups(p.swapaxes(2, 3) @ do[r])
        parcel = ring_shift(parcel)
    return dict(out=gather(out, rows), lse=gather(lse, rows), dq=gather(dq, rows),
                dk=gather([x[2] for x in parcel], rows), dv=gather([x[3] for x in parcel], rows))
