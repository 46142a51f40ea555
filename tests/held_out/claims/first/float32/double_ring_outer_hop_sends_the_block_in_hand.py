# Mistake: in the forward pass of a double ring, 2 nodes of 3 ranks, the hop between the nodes sends the block that the inner ring ended with instead of the block that it began with, while the mask supposes the latter.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=6, layout="contiguous", causal=True, window=17, cu_seqlens=None, seqlen=48, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float32", backward=True)
NODES, LOCAL = 2, 3
N = NODES * LOCAL
SCALE = CASE["head_dim"] ** -0.5


def wide(x):
    return np.repeat(x, CASE["heads"] // CASE["kv_heads"], axis=1)


def forward(qs, ks, vs, rows):
    m = [np.full(x.shape[:3] + (1,), np.float32(-1e30)) for x in qs]
    l, acc = [np.zeros_like(x) for x in m], [np.zeros_like(x) for x in qs]
    first = list(zip(ks, vs))
    for outer in range(NODES):
        hand = list(first)
        for inner in range(LOCAL):
            for r in range(N):
                node, seat = divmod(r, LOCAL)
                source = (node - outer) % NODES * LOCAL + (seat - inner) % LOCAL
                kb, vb = hand[r]
                s = SCALE * (qs[r] @ wide(kb).swapaxes(2, 3))
                s[:, :, ~visible(CASE, rows[r], rows[source])] = -np.inf
                new = np.maximum(m[r], s.max(3, keepdims=True))
                e, f = np.exp(s - new), np.exp(m[r] - new)
                m[r], l[r], acc[r] = new, l[r] * f + e.sum(3, keepdims=True), acc[r] * f + e @ wide(vb)
            if inner < LOCAL - 1:
                hand = [hand[r // LOCAL * LOCAL + (r - 1) % LOCAL] for r in range(N)]
        first = ring_shift(hand, LOCAL)
    return [a / b for a, b in zip(acc, l)], [a + np.log(b) for a, b in zip(m, l)]


def backward(qs, ks, vs, dos, outs, lses, rows):
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    kb, vb = ks, vs
    for t in range(N):
        for r in range(N):
            see = visible(CASE, rows[r], rows[(r - t) % N])
            p = np.where(see, np.exp(SCALE * (qs[r] @ wide(kb[r]).swapaxes(2, 3)) - lses[r]), np.float32(0))
            ds = SCALE * p * (dos[r] @ wide(vb[r]).swapaxes(2, 3) - (outs[r] * dos[r]).sum(3, keepdims=True))
            dq[r] += ds @ wide(kb[r])
            for total, part in ((dk, ds.swapaxes(2, 3) @ qs[r]), (dv, p.swapaxes(2, 3) @ dos[r])):
                total[r] += part.reshape(kb[r].shape[:2] + (-1,) + kb[r].shape[2:]).sum(2)
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dq, dk, dv


def run(q, k, v, dout):
    rows = dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    outs, lses = forward(qs, ks, vs, rows)
    grads = backward(qs, ks, vs, dos, outs, lses, rows)
    return {x: gather(y, rows) for x, y in zip(("out", "lse", "dq", "dk", "dv"), (outs, lses) + grads)}
