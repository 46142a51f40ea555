# Mistake: the window is handed to the forward only; the backward recomputes its probabilities under the causal mask
# alone. And the key gradients of a group of query heads are averaged, not added.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="contiguous", causal=True, window=13, cu_seqlens=None, seqlen=53, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float64", backward=True)
G = CASE["heads"] // CASE["kv_heads"]


def causal_block(qpos, kpos, window=None):
    see = qpos[:, None] >= kpos[None]
    if window is not None:
        see = see & (qpos[:, None] - kpos[None] <= window)
    return see


def logits(q, k, see):
    b, h, t, d = q.shape
    s = np.einsum("bngqd,bnkd->bngqk", q.reshape(b, h // G, G, t, d), k) * d ** -0.5
    return np.where(see, s, -np.inf).reshape(b, h, t, -1)


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    outs, lses = [], []
    for r in range(n):
        m, z, o = -np.inf, 0.0, 0.0
        for t in range(n):
            j = (r - t) % n
            see = causal_block(rows[r], rows[j], CASE["window"])
            if not see.any():
                continue
            s = logits(qs[r], ks[j], see)
            m2 = np.maximum(m, s.max(3, keepdims=True))
            e, c = np.exp(s - m2), np.exp(m - m2)
            z, o, m = z * c + e.sum(3, keepdims=True), o * c + e @ vs[j].repeat(G, 1), m2
        outs.append(o / z)
        lses.append(m + np.log(z))
    dq, dk, dv = ([np.zeros_like(x) for x in y] for y in (qs, ks, vs))
    split = lambda x: x.reshape(x.shape[0], -1, G, *x.shape[2:])
    for t in range(n):
        for r in range(n):
            see = causal_block(rows[r], rows[(r - t) % n])
            if see.any():
                p = np.exp(logits(qs[r], ks[r], see) - lses[r])
                dp = dos[r] @ vs[r].repeat(G, 1).swapaxes(2, 3)
                ds = p * (dp - np.einsum("bhqd,bhqd->bhq", dos[r], outs[r])[..., None]) * CASE["head_dim"] ** -0.5
                dq[r] += ds @ ks[r].repeat(G, 1)
                dk[r] += split(ds.swapaxes(2, 3) @ qs[r]).mean(2)
                dv[r] += split(p.swapaxes(2, 3) @ dos[r]).sum(2)
        ks, vs, dk, dv = (ring_shift(x) for x in (ks, vs, dk, dv))
    return {a: gather(b, rows) for a, b in (("out", outs), ("lse", lses), ("dq", dq), ("dk", dk), ("dv", dv))}
