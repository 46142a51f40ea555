# Mistake: in the striped ring the diagonal of a block counts as visible only if the block is the rank's own, instead of for every block of a rank up to its own (forward and backward).
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=4, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=45, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float32", backward=True)
N = CASE["ranks"]


def bias(rank, source, nq, nk, kind):
    diagonal = source == rank
    return np.where(np.tri(nq, nk, 0 if diagonal else -1, dtype=bool), 0, -np.inf).astype(kind)


def forward(q, k, v, scale, rep):
    o = [np.zeros_like(x) for x in q]
    m = [np.full(x.shape[:3] + (1,), np.finfo(x.dtype).min, x.dtype) for x in q]
    l = [np.zeros_like(x) for x in m]
    for step in range(N):
        for r in range(N):
            src = (r - step) % N
            s = q[r] @ rep(k[r]).transpose(0, 1, 3, 2) * scale + bias(r, src, q[r].shape[2], k[r].shape[2], q[r].dtype)
            mx = np.maximum(m[r], s.max(-1, keepdims=True))
            w, f = np.exp(s - mx), np.exp(m[r] - mx)
            o[r], l[r], m[r] = o[r] * f + w @ rep(v[r]), l[r] * f + w.sum(-1, keepdims=True), mx
        k, v = ring_shift(k), ring_shift(v)
    return [x / y for x, y in zip(o, l)], [x + np.log(y) for x, y in zip(m, l)]


def backward(q, k, v, do, o, lse, scale, rep, fold):
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (q, k, v))
    for step in range(N):
        for r in range(N):
            src = (r - step) % N
            s = q[r] @ rep(k[r]).transpose(0, 1, 3, 2) * scale + bias(r, src, q[r].shape[2], k[r].shape[2], q[r].dtype)
            p = np.exp(s - lse[r])
            ds = p * (do[r] @ rep(v[r]).transpose(0, 1, 3, 2) - (do[r] * o[r]).sum(-1, keepdims=True))
            dq[r] = dq[r] + scale * ds @ rep(k[r])
            dk[r] = dk[r] + scale * fold(ds.transpose(0, 1, 3, 2) @ q[r])
            dv[r] = dv[r] + fold(p.transpose(0, 1, 3, 2) @ do[r])
        k, v, dk, dv = ring_shift(k), ring_shift(v), ring_shift(dk), ring_shift(dv)
    return dq, dk, dv


def run(q, k, v, dout):
    rows, scale, group = dealt(CASE), 1 / CASE["head_dim"] ** 0.5, CASE["heads"] // CASE["kv_heads"]
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    rep = lambda x: np.repeat(x, group, 1)
    fold = lambda x: x.reshape(x.shape[0], -1, group, x.shape[2], x.shape[3]).sum(2)
    out, lse = forward(qs, ks, vs, scale, rep)
    dq, dk, dv = backward(qs, ks, vs, dos, out, lse, scale, rep, fold)
    return dict(out=gather(out, rows), lse=gather(lse, rows), dq=gather(dq, rows), dk=gather(dk, rows), dv=gather(dv, rows))
