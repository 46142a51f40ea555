# Mistake: a ring of 2 nodes with 3 ranks each; the outer hop sends the block that the inner ring ended with, but the
# positions for the causal mask are counted as if the inner ring began anew with the own block: right blocks, wrong mask.
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=6, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=48, heads=2, kv_heads=1,
            head_dim=4, batch=1, dtype="float64", backward=False)
NODES, LOCAL = 2, 3


def merge(a, b):
    (oa, ma, la), (ob, mb, lb) = a, b
    m = np.maximum(ma, mb)
    z = np.where(np.isfinite(m), m, 0)
    wa, wb = np.exp(ma - z), np.exp(mb - z)
    return oa * wa + ob * wb, m, la * wa + lb * wb


def piece(q, k, v, see):
    s = np.where(see, q @ k.swapaxes(-1, -2) * CASE["head_dim"] ** -0.5, -np.inf)
    m = s.max(-1, keepdims=True)
    p = np.exp(s - np.where(np.isfinite(m), m, 0))
    return p @ v, m, p.sum(-1, keepdims=True)


def run(q, k, v, dout):
    rows = dealt(CASE)
    Q, K, V = scatter(q, rows), scatter(k, rows), scatter(v, rows)
    held = {(a, b): (K[b * NODES + a], V[b * NODES + a]) for a in range(NODES) for b in range(LOCAL)}
    state = {}
    for outer in range(NODES):
        for inner in range(LOCAL):
            for a, b in held:
                here = b * NODES + a
                turned = inner
                whose = (b - turned) % LOCAL * NODES + (a - outer) % NODES
                kk, vv = held[a, b]
                keys = rows[whose]
                new = piece(Q[here], kk, vv, keys[None] <= rows[here][:, None])
                state[here] = merge(state[here], new) if here in state else new
            if inner < LOCAL - 1:
                held = {(a, b): held[a, (b - 1) % LOCAL] for a, b in held}
        held = {(a, b): held[(a - 1) % NODES, b] for a, b in held}
    o = [state[r][0] / state[r][2] for r in range(6)]
    e = [state[r][1] + np.log(state[r][2]) for r in range(6)]
    return {"out": gather(o, rows), "lse": gather(e, rows)}
