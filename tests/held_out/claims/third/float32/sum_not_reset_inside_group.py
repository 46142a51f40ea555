# Mistake: The running maximum m and sum l are allocated once for each KV head, outside the loop over its query heads, so the 2nd and 3rd query head of a group start with the m and l of the heads before them (only the output accumulator is new); their out is too small and their lse too large, and the gradients are taken with this lse and out.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=3, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=38, heads=6, kv_heads=2,
            head_dim=8, batch=1, dtype="float32", backward=True)
GROUP, SCALE = CASE["heads"] // CASE["kv_heads"], CASE["head_dim"] ** -0.5


def forward_of_rank(r, q, blocks, rows):
    """blocks: (owner, k, v) in the order in which the ring brings them."""
    out, lse = np.zeros_like(q), np.zeros(q.shape[:3], q.dtype)
    for b in range(q.shape[0]):
        for g in range(CASE["kv_heads"]):
            m = np.full(q.shape[2], -1e30, q.dtype)
            l = np.zeros(q.shape[2], q.dtype)
            for h in range(g * GROUP, (g + 1) * GROUP):
                acc = np.zeros(q.shape[2:], q.dtype)
                for owner, k, v in blocks:
                    s = SCALE * q[b, h] @ k[b, g].T
                    s = np.where(visible(CASE, rows[r], rows[owner]), s, np.float32(-np.inf))
                    new = np.maximum(m, s.max(1))
                    p, keep = np.exp(s - new[:, None]), np.exp(m - new)
                    acc = acc * keep[:, None] + p @ v[b, g]
                    l = l * keep + p.sum(1)
                    m = new
                out[b, h] = acc / l[:, None]
                lse[b, h] = m + np.log(l)
    return out, lse


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    come = lambda r: [((r - t) % n, ks[(r - t) % n], vs[(r - t) % n]) for t in range(n)]
    out, lse = zip(*(forward_of_rank(r, qs[r], come(r), rows) for r in range(n)))
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    for t in range(n):
        for r in range(n):
            _, kb, vb = come(r)[t]
            see = visible(CASE, rows[r], rows[(r - t) % n])
            for h in range(CASE["heads"]):
                g = h // GROUP
                p = np.where(see, np.exp(SCALE * qs[r][:, h] @ kb[:, g].swapaxes(1, 2) - lse[r][:, h, :, None]), np.float32(0))
                delta = (out[r][:, h] * dos[r][:, h]).sum(-1, keepdims=True)
                ds = SCALE * p * (dos[r][:, h] @ vb[:, g].swapaxes(1, 2) - delta)
                dq[r][:, h] += ds @ kb[:, g]
                dk[r][:, g] += ds.swapaxes(1, 2) @ qs[r][:, h]
                dv[r][:, g] += p.swapaxes(1, 2) @ dos[r][:, h]
        dk, dv = ring_shift(dk), ring_shift(dv)
    return {name: gather(x, rows) for name, x in dict(out=out, lse=lse, dq=dq, dk=dk, dv=dv).items()}
