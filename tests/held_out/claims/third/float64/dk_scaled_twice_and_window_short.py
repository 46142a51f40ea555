# Mistake: (1) dk is multiplied by softmax_scale twice: ds already carries the scale and it is multiplied with the pre-scaled queries. (2) The window ends one key early on its left side: a query sees itself and only the window - 1 keys before it, in the forward and in the backward pass.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=4, layout="striped", causal=True, window=9, cu_seqlens=None, seqlen=46, heads=6, kv_heads=3,
            head_dim=16, batch=1, dtype="float64", backward=True)
GROUP = CASE["heads"] // CASE["kv_heads"]


def in_window(qpos, kpos):
    ago = qpos[:, None] - kpos[None, :]
    return (ago >= 0) & (ago < CASE["window"])


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    scale = CASE["head_dim"] ** -0.5
    qs = scatter(q * scale, rows)  # scaled once, here
    ks, vs, dos = (scatter(x, rows) for x in (k, v, dout))
    out = [np.zeros_like(x) for x in qs]
    lse = [np.full(x.shape[:3] + (1,), -np.inf) for x in qs]
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            s = qs[r] @ np.repeat(kb[r], GROUP, 1).swapaxes(2, 3)
            s = np.where(in_window(rows[r], rows[(r - t) % n]), s, -np.inf)
            new = np.logaddexp(lse[r], np.logaddexp.reduce(s, axis=3, keepdims=True))
            base = np.where(np.isinf(new), 0, new)
            out[r] = np.exp(lse[r] - base) * out[r] + np.exp(s - base) @ np.repeat(vb[r], GROUP, 1)
            lse[r] = new
        kb, vb = ring_shift(kb), ring_shift(vb)
    delta = [(a * b).sum(3, keepdims=True) for a, b in zip(out, dos)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            see = in_window(rows[r], rows[(r - t) % n])
            p = np.where(see, np.exp(qs[r] @ np.repeat(kb[r], GROUP, 1).swapaxes(2, 3) - lse[r]), 0)
            ds = scale * p * (dos[r] @ np.repeat(vb[r], GROUP, 1).swapaxes(2, 3) - delta[r])
            dq[r] += ds @ np.repeat(kb[r], GROUP, 1)
            for g in range(CASE["kv_heads"]):
                for h in range(g * GROUP, (g + 1) * GROUP):
                    dk[r][:, g] += ds[:, h].swapaxes(1, 2) @ qs[r][:, h]
                    dv[r][:, g] += p[:, h].swapaxes(1, 2) @ dos[r][:, h]
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (out, lse, dq, dk, dv))))
