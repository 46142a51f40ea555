# Mistake: window counts the keys before the query, so a query sees window + 1 keys with its own; the mask lets through
# window of them.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=4, layout="contiguous", causal=True, window=9, cu_seqlens=None, seqlen=70, heads=4, kv_heads=1,
            head_dim=8, batch=1, dtype="float32", backward=False)


def sees(i, j):
    ago = i[:, None] - j[None, :]
    return (0 <= ago) & (ago < CASE["window"])


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    qs = [x * np.float32(CASE["head_dim"] ** -0.5) for x in scatter(q, rows)]
    state = [dict(m=np.full(x.shape[:3], -np.inf, np.float32), l=np.zeros(x.shape[:3], np.float32), o=np.zeros_like(x)) for x in qs]
    wire = list(zip(rows, scatter(k, rows), scatter(v, rows)))
    for _ in range(n):
        for r in range(n):
            at, kb, vb = wire[r]
            see = sees(rows[r], at)
            if see.any():
                st = state[r]
                s = np.einsum("bhqd,bkd->bhqk", qs[r], kb[:, 0])
                s[:, :, ~see] = -np.inf
                m = np.maximum(st["m"], s.max(-1))
                base = np.where(m == -np.inf, np.float32(0), m)
                p, a = np.exp(s - base[..., None]), np.exp(st["m"] - base)
                st.update(m=m, l=a * st["l"] + p.sum(-1), o=a[..., None] * st["o"] + np.einsum("bhqk,bkd->bhqd", p, vb[:, 0]))
        wire = ring_shift(wire)
    return dict(out=gather([x["o"] / x["l"][..., None] for x in state], rows),
                lse=gather([(x["m"] + np.log(x["l"]))[..., None] for x in state], rows))
