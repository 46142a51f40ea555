# Mistake: the key heads were tiled (0 1 0 1 0 1) where they must be repeated (0 0 0 1 1 1), in both passes alike.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="striped", causal=True, window=24, cu_seqlens=None, seqlen=60, heads=6, kv_heads=2,
            head_dim=8, batch=1, dtype="bfloat16", backward=True)
KV_HEAD = [h % CASE["kv_heads"] for h in range(CASE["heads"])]


def forward_block(q, k, v, see, m, l, acc):
    for h, c in enumerate(KV_HEAD):
        s = np.where(see, q[:, h] @ k[:, c].swapaxes(1, 2) * CASE["head_dim"] ** -0.5, -np.inf)
        new = np.maximum(m[:, h], s.max(2))
        ref = np.where(np.isinf(new), 0, new)
        e, a = np.exp(s - ref[..., None]), np.exp(m[:, h] - ref)
        l[:, h] = l[:, h] * a + e.sum(2)
        acc[:, h] = acc[:, h] * a[..., None] + e @ v[:, c]
        m[:, h] = new


def backward_block(q, k, v, do, lse, delta, see, dq, dk, dv):
    for h, c in enumerate(KV_HEAD):
        s = np.where(see, q[:, h] @ k[:, c].swapaxes(1, 2) * CASE["head_dim"] ** -0.5, -np.inf)
        p = np.exp(s - lse[:, h, :, None])
        ds = p * (do[:, h] @ v[:, c].swapaxes(1, 2) - delta[:, h, :, None]) * CASE["head_dim"] ** -0.5
        dq[:, h] += ds @ k[:, c]
        dk[:, c] += ds.swapaxes(1, 2) @ q[:, h]
        dv[:, c] += p.swapaxes(1, 2) @ do[:, h]


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    m = [np.full(x.shape[:3], -np.inf) for x in qs]
    l = [np.zeros(x.shape[:3]) for x in qs]
    acc, dq, dk, dv = ([np.zeros_like(x) for x in y] for y in (qs, qs, ks, vs))
    for t in range(n):
        for r in range(n):
            forward_block(qs[r], ks[r], vs[r], visible(CASE, rows[r], rows[r - t]), m[r], l[r], acc[r])
        ks, vs = ring_shift(ks), ring_shift(vs)
    out, lse = [a / b[..., None] for a, b in zip(acc, l)], [a + np.log(b) for a, b in zip(m, l)]
    delta = [(a * b).sum(3) for a, b in zip(out, dos)]
    for t in range(n):
        for r in range(n):
            backward_block(qs[r], ks[r], vs[r], dos[r], lse[r], delta[r], visible(CASE, rows[r], rows[r - t]), dq[r], dk[r], dv[r])
        ks, vs, dk, dv = (ring_shift(x) for x in (ks, vs, dk, dv))
    return dict(out=gather(out, rows), lse=gather([x[..., None] for x in lse], rows), dq=gather(dq, rows),
                dk=gather(dk, rows), dv=gather(dv, rows))
