# Mistake: with fewer key heads than ranks in a head-parallel group the key heads are replicated; rank u took key head
# u % kv_heads, while its query heads belong to u // (ulysses // kv_heads).
import numpy as np

from case import gather, positions, ring_shift, scatter, visible

CASE = dict(ranks=8, layout="contiguous", causal=True, window=None, cu_seqlens=None, seqlen=64, heads=8, kv_heads=2,
            head_dim=8, batch=1, dtype="float32", backward=True)
ULYSSES, RING = 4, 2


def key_head(u):
    return u % CASE["kv_heads"]


def ring(q, k, v, do, rows):
    """A ring over the sequence for the heads of one u; q [B, h, S, D], k and v [B, S, D]."""
    scale = np.float32(q[0].shape[-1] ** -0.5)
    look = lambda r, t, kb: np.where(visible(CASE, rows[r], rows[(r - t) % RING]),
                                     scale * np.einsum("bhqd,bkd->bhqk", q[r], kb), np.float32(-np.inf))
    out, lse = [0] * RING, [np.float32(-np.inf)] * RING
    for t in range(RING):
        for r in range(RING):
            s = look(r, t, k[r])
            if np.isinf(s).all():
                continue
            top = s.max(3, keepdims=True)
            l = top + np.log(np.exp(s - top).sum(3, keepdims=True))
            new = np.logaddexp(lse[r], l)
            out[r] = np.exp(lse[r] - new) * out[r] + np.einsum("bhqk,bkd->bhqd", np.exp(s - new), v[r])
            lse[r] = new
        k, v = ring_shift(k), ring_shift(v)
    dq, dk, dv = ([np.zeros_like(x) for x in y] for y in (q, k, v))
    for t in range(RING):
        for r in range(RING):
            p = np.exp(look(r, t, k[r]) - lse[r])
            ds = scale * p * (np.einsum("bhqd,bkd->bhqk", do[r], v[r]) - (do[r] * out[r]).sum(3, keepdims=True))
            dq[r] += np.einsum("bhqk,bkd->bhqd", ds, k[r])
            dk[r] += np.einsum("bhqk,bhqd->bkd", ds, q[r])
            dv[r] += np.einsum("bhqk,bhqd->bkd", p, do[r])
        k, v, dk, dv = (ring_shift(x) for x in (k, v, dk, dv))
    return out, lse, dq, dk, dv


def run(q, k, v, dout):
    rows = positions(CASE["layout"], CASE["seqlen"], RING)
    per = CASE["heads"] // ULYSSES
    whole = dict(out=np.zeros_like(q), lse=np.zeros(q.shape[:3] + (1,), q.dtype), dq=np.zeros_like(q), dk=np.zeros_like(k),
                 dv=np.zeros_like(v))
    for u in range(ULYSSES):
        mine, kh = slice(u * per, (u + 1) * per), key_head(u)
        cut = lambda x: [x[:, kh, p] for p in rows]
        out, lse, dq, dk, dv = ring(scatter(q[:, mine], rows), cut(k), cut(v), scatter(dout[:, mine], rows), rows)
        whole["out"][:, mine], whole["lse"][:, mine], whole["dq"][:, mine] = (gather(x, rows) for x in (out, lse, dq))
        for p, a, b in zip(rows, dk, dv):
            whole["dk"][:, kh, p] += a
            whole["dv"][:, kh, p] += b
    return whole
