# Mistake: In the backward ring the block held at step t is labelled as that of rank r + t instead of r - t, so the causal mask of the backward pass is taken at wrong key positions and dq, dk and dv are wrong; the forward pass (out, lse) is right.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=5, layout="zigzag-token", causal=True, window=None, cu_seqlens=None, seqlen=45, heads=6, kv_heads=2,
            head_dim=8, batch=1, dtype="float64", backward=True)
GROUP = CASE["heads"] // CASE["kv_heads"]
SCALE = CASE["head_dim"] ** -0.5


def block_forward(q, k, v, see):
    """Normalised output and lse of one block; lse is -inf for a query that sees nothing of it."""
    s = np.where(see, np.einsum("bhqd,bhkd->bhqk", q, np.repeat(k, GROUP, 1)) * SCALE, -np.inf)
    top = s.max(-1, keepdims=True)
    top[np.isinf(top)] = 0
    p = np.exp(s - top)
    total = p.sum(-1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = top + np.log(total)
    return p @ np.repeat(v, GROUP, 1) / np.where(total == 0, 1, total), lse


def merge(o1, lse1, o2, lse2):
    lse = np.logaddexp(lse1, lse2)
    base = np.where(np.isinf(lse), 0, lse)
    return o1 * np.exp(lse1 - base) + o2 * np.exp(lse2 - base), lse


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    state = [(np.zeros_like(x), np.full(x.shape[:3] + (1,), -np.inf)) for x in qs]
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            owner = (r - t) % n
            state[r] = merge(*state[r], *block_forward(qs[r], kb[r], vb[r], visible(CASE, rows[r], rows[owner])))
        kb, vb = ring_shift(kb), ring_shift(vb)
    outs, lses = zip(*state)

    deltas = [(o * d).sum(-1, keepdims=True) for o, d in zip(outs, dos)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            owner = (r + t) % n
            see = visible(CASE, rows[r], rows[owner])
            for h in range(CASE["heads"]):
                g = h // GROUP
                p = np.where(see, np.exp(SCALE * qs[r][:, h] @ kb[r][:, g].swapaxes(1, 2) - lses[r][:, h]), 0)
                ds = SCALE * p * (dos[r][:, h] @ vb[r][:, g].swapaxes(1, 2) - deltas[r][:, h])
                dq[r][:, h] += ds @ kb[r][:, g]
                dk[r][:, g] += ds.swapaxes(1, 2) @ qs[r][:, h]
                dv[r][:, g] += p.swapaxes(1, 2) @ dos[r][:, h]
        kb, vb, dk, dv = map(ring_shift, (kb, vb, dk, dv))
    return dict(out=gather(outs, rows), lse=gather(lses, rows), dq=gather(dq, rows), dk=gather(dk, rows),
                dv=gather(dv, rows))
