# Mistake: delta = rowsum(dout * out) is formed on the gathered tensors and cut into contiguous pieces, though the shards
# are zig-zag: dq and dk subtract other tokens' deltas.
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=4, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=40, heads=2, kv_heads=1,
            head_dim=8, batch=2, dtype="float32", backward=True)
SCALE = np.float32(1 / np.sqrt(CASE["head_dim"]))


def forward(qs, ks, vs, rows):
    n = len(rows)
    o, e = [], []
    for r in range(n):
        acc = den = np.float32(0)
        for t in range(n):
            src = (r - t) % n
            w = np.exp(SCALE * qs[r] @ ks[src].swapaxes(2, 3)) * visible(CASE, rows[r], rows[src])
            acc = acc + w @ vs[src]
            den = den + w.sum(3, keepdims=True)
        o.append((acc / den).astype(np.float32))
        e.append(np.log(den).astype(np.float32))
    return gather(o, rows), gather(e, rows)


def backward(qs, ks, vs, gs, es, deltas, rows):
    n = len(rows)
    dq, dk, dv = ([np.zeros_like(x) for x in y] for y in (qs, ks, vs))
    for t in range(n):
        for r in range(n):
            src = (r - t) % n
            p = np.exp(SCALE * qs[r] @ ks[src].swapaxes(2, 3) - es[r]) * visible(CASE, rows[r], rows[src])
            ds = p * (gs[r] @ vs[src].swapaxes(2, 3) - deltas[r]) * SCALE
            dq[r] += ds @ ks[src]
            dk[src] += (ds.swapaxes(2, 3) @ qs[r]).sum(1, keepdims=True)
            dv[src] += (p.swapaxes(2, 3) @ gs[r]).sum(1, keepdims=True)
    return [gather(x, rows) for x in (dq, dk, dv)]


def run(q, k, v, dout):
    rows = dealt(CASE)
    deal = lambda x: scatter(x, rows)
    out, lse = forward(deal(q), deal(k), deal(v), rows)
    delta = (out * dout).sum(3, keepdims=True)
    deltas = np.array_split(delta, CASE["ranks"], axis=2)
    dq, dk, dv = backward(deal(q), deal(k), deal(v), deal(dout), deal(lse), deltas, rows)
    return dict(out=out, lse=lse, dq=dq, dk=dk, dv=dv)
