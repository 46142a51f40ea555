# Mistake: in the token zig-zag the position of row i of rank j's block is taken for i * N + j, as in the striped layout, instead of i * N + N - 1 - j for odd i; queries have the right positions (forward and backward).
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=6, layout="zigzag-token", causal=True, window=None, cu_seqlens=None, seqlen=65, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float32", backward=True)
N = CASE["ranks"]


def q_position(rank, i):
    return i * N + np.where(i % 2 == 0, rank, N - 1 - rank)


def k_position(rank, i):
    return i * N + rank


def mask(me, owner, nq, nk):
    return q_position(me, np.arange(nq))[:, None] >= k_position(owner, np.arange(nk))[None, :]


def attend(q, k, v, see, m, l, acc):
    scale = CASE["head_dim"] ** -0.5
    for h in range(q.shape[1]):
        g = h * CASE["kv_heads"] // CASE["heads"]
        s = np.where(see, scale * q[:, h] @ k[:, g].swapaxes(1, 2), np.float32(-np.inf))
        new = np.maximum(m[:, h], s.max(2))
        base = np.where(np.isinf(new), np.float32(0), new)
        p, keep = np.exp(s - base[..., None]), np.exp(m[:, h] - base)
        m[:, h] = new
        l[:, h] = l[:, h] * keep + p.sum(2)
        acc[:, h] = acc[:, h] * keep[..., None] + p @ v[:, g]


def attend_backward(q, k, v, see, lse, delta, dout, dq, dk, dv):
    scale = CASE["head_dim"] ** -0.5
    for h in range(q.shape[1]):
        g = h * CASE["kv_heads"] // CASE["heads"]
        s = np.where(see, scale * q[:, h] @ k[:, g].swapaxes(1, 2), np.float32(-np.inf))
        p = np.exp(s - lse[:, h, :, None])
        ds = p * (dout[:, h] @ v[:, g].swapaxes(1, 2) - delta[:, h, :, None]) * scale
        dq[:, h] += ds @ k[:, g]
        dk[:, g] += ds.swapaxes(1, 2) @ q[:, h]
        dv[:, g] += p.swapaxes(1, 2) @ dout[:, h]


def run(q, k, v, dout):
    rows = dealt(CASE)
    qs, ks, vs, gs = (scatter(x, rows) for x in (q, k, v, dout))
    m = [np.full(x.shape[:3], -np.inf, x.dtype) for x in qs]
    l = [np.zeros(x.shape[:3], x.dtype) for x in qs]
    acc = [np.zeros_like(x) for x in qs]
    kb, vb = ks, vs
    for t in range(N):
        for r in range(N):
            see = mask(r, (r - t) % N, len(rows[r]), kb[r].shape[2])
            attend(qs[r], kb[r], vb[r], see, m[r], l[r], acc[r])
        kb, vb = ring_shift(kb), ring_shift(vb)
    out = [a / z[..., None] for a, z in zip(acc, l)]
    lse = [a + np.log(z) for a, z in zip(m, l)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    kb, vb = ks, vs
    for t in range(N):
        for r in range(N):
            see = mask(r, (r - t) % N, len(rows[r]), kb[r].shape[2])
            attend_backward(qs[r], kb[r], vb[r], see, lse[r], (out[r] * gs[r]).sum(3), gs[r], dq[r], dk[r], dv[r])
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(out=gather(out, rows), lse=gather([x[..., None] for x in lse], rows), dq=gather(dq, rows),
                dk=gather(dk, rows), dv=gather(dv, rows))
