# Mistake: in the forward online softmax the running sum l is not multiplied by exp(m_old - m_new) when the maximum grows (the accumulator is), so l and lse are too large and out too small in the rows whose maximum rises after the first block.
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=6, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=70,
            heads=4, kv_heads=2, head_dim=8, batch=1, dtype="bfloat16", backward=False)

NODES, LOCAL = 2, 3
WORLD = NODES * LOCAL
REP = CASE["heads"] // CASE["kv_heads"]
SCALE = CASE["head_dim"] ** -0.5


def within(things):
    """One hop of the inner ring, on every node."""
    return [things[r // LOCAL * LOCAL + (r % LOCAL - 1) % LOCAL] for r in range(WORLD)]


def across(things):
    """One hop of the outer ring: from the same seat of the previous node."""
    return [things[(r - LOCAL) % WORLD] for r in range(WORLD)]


def source(r, outer, inner):
    node, seat = divmod(r, LOCAL)
    return (node - outer) % NODES * LOCAL + (seat - inner) % LOCAL


def product(q, k, see):
    s = SCALE * q @ np.repeat(k, REP, 1).swapaxes(2, 3)
    return np.where(see, s, -np.inf)


def fold(x):
    return x.reshape(x.shape[0], -1, REP, *x.shape[2:]).sum(2)


def run(q, k, v, dout):
    rows = dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    m = [np.full(x.shape[:3] + (1,), -np.inf, x.dtype) for x in qs]
    l = [np.zeros_like(x) for x in m]
    acc = [np.zeros_like(x) for x in qs]
    held = list(zip(ks, vs))
    for outer in range(NODES):
        moving = held
        for inner in range(LOCAL):
            for r in range(WORLD):
                kb, vb = moving[r]
                s = product(qs[r], kb, visible(CASE, rows[r], rows[source(r, outer, inner)]))
                top = np.maximum(m[r], s.max(3, keepdims=True))
                base = np.where(np.isinf(top), 0, top).astype(q.dtype)
                p, fade = np.exp(s - base), np.exp(m[r] - base)
                l[r] = l[r] + p.sum(3, keepdims=True)
                acc[r] = acc[r] * fade + p @ np.repeat(vb, REP, 1)
                m[r] = top
            moving = within(moving)
        held = across(held)
    outs = [a / x for a, x in zip(acc, l)]
    lses = [x + np.log(y) for x, y in zip(m, l)]
    if not CASE["backward"]:
        return dict(out=gather(outs, rows), lse=gather(lses, rows))
    deltas = [(o * d).sum(3, keepdims=True) for o, d in zip(outs, dos)]
    dq = [np.zeros_like(x) for x in qs]
    grads = [(np.zeros_like(x), np.zeros_like(y)) for x, y in zip(ks, vs)]
    held = list(zip(ks, vs))
    for outer in range(NODES):
        moving = held
        for inner in range(LOCAL):
            for r in range(WORLD):
                kb, vb = moving[r]
                p = np.exp(product(qs[r], kb, visible(CASE, rows[r], rows[source(r, outer, inner)])) - lses[r])
                ds = SCALE * p * (dos[r] @ np.repeat(vb, REP, 1).swapaxes(2, 3) - deltas[r])
                dq[r] += ds @ np.repeat(kb, REP, 1)
                dk, dv = grads[r]
                grads[r] = dk + fold(ds.swapaxes(2, 3) @ qs[r]), dv + fold(p.swapaxes(2, 3) @ dos[r])
            moving, grads = within(moving), within(grads)
        held, grads = across(held), across(grads)
    dk, dv = zip(*grads)
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
