# Mistake: When the block of an earlier rank arrives (owner < rank), all queries attend to its late chunk instead of its early chunk, in the forward and in the backward pass; no mask is applied to it.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=4, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=48, heads=4, kv_heads=2,
            head_dim=8, batch=2, dtype="float64", backward=True)
N, GROUP, SCALE = CASE["ranks"], CASE["heads"] // CASE["kv_heads"], CASE["head_dim"] ** -0.5
CHUNK = CASE["seqlen"] // (2 * N)


def tile_of(r, owner):
    """The rows of the queries, the rows of the block, and whether the triangle is needed."""
    if owner == r:
        return slice(None), slice(None), True
    if owner < r:
        return slice(None), slice(CHUNK, None), False
    return slice(CHUNK, None), slice(None), False


def scores(q, k, triangle):
    s = SCALE * q @ np.repeat(k, GROUP, 1).swapaxes(2, 3)
    return np.where(np.tri(s.shape[2], s.shape[3], dtype=bool), s, -np.inf) if triangle else s


def fold(x):
    b, h, s, d = x.shape
    return x.reshape(b, h // GROUP, GROUP, s, d).sum(axis=2)


def forward(qs, ks, vs):
    m = [np.full(x.shape[:3] + (1,), -np.inf) for x in qs]
    l = [np.zeros_like(x) for x in m]
    acc = [np.zeros_like(x) for x in qs]
    for t in range(N):
        for r in range(N):
            mine, theirs, triangle = tile_of(r, (r - t) % N)
            s = scores(qs[r][:, :, mine], ks[r][:, :, theirs], triangle)
            new = np.maximum(m[r][:, :, mine], s.max(3, keepdims=True))
            p, keep = np.exp(s - new), np.exp(m[r][:, :, mine] - new)
            l[r][:, :, mine] = l[r][:, :, mine] * keep + p.sum(3, keepdims=True)
            acc[r][:, :, mine] = acc[r][:, :, mine] * keep + p @ np.repeat(vs[r][:, :, theirs], GROUP, 1)
            m[r][:, :, mine] = new
        ks, vs = ring_shift(ks), ring_shift(vs)
    return [a / x for a, x in zip(acc, l)], [x + np.log(y) for x, y in zip(m, l)]


def backward(qs, ks, vs, dos, outs, lses):
    delta = [(o * d).sum(3, keepdims=True) for o, d in zip(outs, dos)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    for t in range(N):
        for r in range(N):
            mine, theirs, triangle = tile_of(r, (r - t) % N)
            qm, dom, km, vm = qs[r][:, :, mine], dos[r][:, :, mine], ks[r][:, :, theirs], vs[r][:, :, theirs]
            p = np.exp(scores(qm, km, triangle) - lses[r][:, :, mine])
            ds = SCALE * p * (dom @ np.repeat(vm, GROUP, 1).swapaxes(2, 3) - delta[r][:, :, mine])
            dq[r][:, :, mine] += ds @ np.repeat(km, GROUP, 1)
            dk[r][:, :, theirs] += fold(ds.swapaxes(2, 3) @ qm)
            dv[r][:, :, theirs] += fold(p.swapaxes(2, 3) @ dom)
        ks, vs, dk, dv = ring_shift(ks), ring_shift(vs), ring_shift(dk), ring_shift(dv)
    return dq, dk, dv


def run(q, k, v, dout):
    rows = dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    outs, lses = forward(qs, ks, vs)
    dq, dk, dv = backward(qs, ks, vs, dos, outs, lses)
    return {name: gather(x, rows) for name, x in dict(out=outs, lse=lses, dq=dq, dk=dk, dv=dv).items()}
