# Mistake: delta is computed for the whole sequence and then dealt to the ranks in contiguous parts, although q, dout and lse lie in zig-zag order; so most rows use the delta of another token, and dq and dk are wrong.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="zigzag", causal=False, window=None, cu_seqlens=None, seqlen=48, heads=4, kv_heads=1,
            head_dim=8, batch=2, dtype="float32", backward=True)


def rowwise_forward(qs, ks, vs, scale):
    n = len(qs)
    outs, lses = [], []
    for r in range(n):
        order = [(r - t) % n for t in range(n)]
        s = [scale * np.einsum("bhqd,bkd->bhqk", qs[r], ks[b][:, 0]) for b in order]
        zs = [np.log(np.exp(x - x.max(3, keepdims=True)).sum(3, keepdims=True)) + x.max(3, keepdims=True) for x in s]
        lse = zs[0]
        for z in zs[1:]:
            lse = np.maximum(lse, z) + np.log1p(np.exp(-np.abs(lse - z)))
        outs.append(sum(np.einsum("bhqk,bkd->bhqd", np.exp(x - lse), vs[b][:, 0]) for x, b in zip(s, order)))
        lses.append(lse)
    return outs, lses


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    outs, lses = rowwise_forward(qs, ks, vs, scale)
    out = gather(outs, rows)
    delta = np.sum(out * dout, axis=-1, keepdims=True)
    deltas = np.split(delta, n, axis=2)
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            p = np.exp(scale * np.einsum("bhqd,bkd->bhqk", qs[r], kb[r][:, 0]) - lses[r])
            ds = scale * p * (np.einsum("bhqd,bkd->bhqk", dos[r], vb[r][:, 0]) - deltas[r])
            dq[r] += np.einsum("bhqk,bkd->bhqd", ds, kb[r][:, 0])
            dk[r] += np.einsum("bhqk,bhqd->bkd", ds, qs[r])[:, None]
            dv[r] += np.einsum("bhqk,bhqd->bkd", p, dos[r])[:, None]
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(out=out, lse=gather(lses, rows), dq=gather(dq, rows), dk=gather(dk, rows), dv=gather(dv, rows))
