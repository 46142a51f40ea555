# Mistake: delta is the row sum of dout times the out of the own block alone (as it stood after ring step 0), instead of dout times the final out merged over all ring steps.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=3, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=37, heads=2, kv_heads=2,
            head_dim=16, batch=2, dtype="float64", backward=True)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    state = [dict(m=np.full(x.shape[:3] + (1,), -np.inf), l=np.zeros(x.shape[:3] + (1,)), acc=np.zeros_like(x)) for x in qs]
    saved_delta = [None] * n
    kv = list(zip(ks, vs))
    for t in range(n):
        for r, st in enumerate(state):
            kk, vv = kv[r]
            see = visible(CASE, rows[r], rows[(r - t) % n])
            s = np.where(see, scale * qs[r] @ kk.swapaxes(2, 3), -np.inf)
            new = np.maximum(st["m"], s.max(3, keepdims=True))
            p, keep = np.exp(s - new), np.exp(st["m"] - new)
            st["m"] = new
            st["l"] = st["l"] * keep + p.sum(3, keepdims=True)
            st["acc"] = st["acc"] * keep + p @ vv
            if saved_delta[r] is None:
                saved_delta[r] = (dos[r] * st["acc"] / st["l"]).sum(3, keepdims=True)
        kv = ring_shift(kv)
    outs = [st["acc"] / st["l"] for st in state]
    lses = [st["m"] + np.log(st["l"]) for st in state]
    dq = [np.zeros_like(x) for x in qs]
    bag = [(a, b, np.zeros_like(a), np.zeros_like(b)) for a, b in zip(ks, vs)]
    for t in range(n):
        for r in range(n):
            kk, vv, dk, dv = bag[r]
            see = visible(CASE, rows[r], rows[(r - t) % n])
            p = np.exp(np.where(see, scale * qs[r] @ kk.swapaxes(2, 3), -np.inf) - lses[r])
            ds = scale * p * (dos[r] @ vv.swapaxes(2, 3) - saved_delta[r])
            dq[r] += ds @ kk
            dk += ds.swapaxes(2, 3) @ qs[r]
            dv += p.swapaxes(2, 3) @ dos[r]
        bag = ring_shift(bag)
    dk, dv = [b[2] for b in bag], [b[3] for b in bag]
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
