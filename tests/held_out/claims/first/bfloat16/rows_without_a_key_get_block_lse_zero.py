# Mistake: a row that sees no key of a block gets out 0 and lse 0 from it, instead of lse -inf, and is merged with the weight exp(0).
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=5, layout="zigzag-token", causal=True, window=None, cu_seqlens=None, seqlen=48, heads=4, kv_heads=1,
            head_dim=16, batch=1, dtype="bfloat16", backward=True)
N = CASE["ranks"]


def block_attention(q, k, v, see):
    s = np.where(see, q @ k.swapaxes(2, 3) / 4.0, -np.inf)
    top = s.max(3, keepdims=True)
    empty = np.isneginf(top)
    top[empty] = 0
    e = np.exp(s - top)
    l = e.sum(3, keepdims=True)
    lse = np.where(empty, 0.0, top + np.log(np.where(empty, 1, l)))
    return e @ v / np.where(empty, 1, l), lse


def run(q, k, v, dout):
    rows = dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    outs, lses = [np.zeros_like(x) for x in qs], [np.full(x.shape[:3] + (1,), -np.inf) for x in qs]
    kv = list(zip(ks, vs))
    for t in range(N):
        for r in range(N):
            o, e = block_attention(qs[r], *kv[r], visible(CASE, rows[r], rows[(r - t) % N]))
            total = np.logaddexp(lses[r], e)
            outs[r] = np.exp(lses[r] - total) * outs[r] + np.exp(e - total) * o
            lses[r] = total
        kv = ring_shift(kv)
    grads = [dict(dq=np.zeros_like(a), dk=np.zeros_like(b), dv=np.zeros_like(c)) for a, b, c in zip(qs, ks, vs)]
    for r in range(N):
        delta = (outs[r] * dos[r]).sum(3, keepdims=True)
        for src in range(N):
            see = visible(CASE, rows[r], rows[src])
            p = np.where(see, np.exp(qs[r] @ ks[src].swapaxes(2, 3) / 4.0 - lses[r]), 0)
            ds = p * (dos[r] @ vs[src].swapaxes(2, 3) - delta) / 4.0
            grads[r]["dq"] += ds @ ks[src]
            grads[src]["dk"] += np.sum(ds.swapaxes(2, 3) @ qs[r], axis=1, keepdims=True)
            grads[src]["dv"] += np.sum(p.swapaxes(2, 3) @ dos[r], axis=1, keepdims=True)
    made = {x: gather([g[x] for g in grads], rows) for x in ("dq", "dk", "dv")}
    return dict(out=gather(outs, rows), lse=gather(lses, rows), **made)
