# Mistake: Double ring backward (2 nodes x 2 ranks). (1) dk and dv travel with their blocks inside the node but do not make the outer hop after the last outer round, so each rank returns the gradients of the block of its partner in the other node. (2) dq is cleared at the start of every outer round, so the part of the first round (the blocks of the own node) is lost.
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=4, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=40, heads=4, kv_heads=2,
            head_dim=16, batch=1, dtype="float32", backward=True)
NODES, SEATS = 2, 2
GROUP, SCALE = 2, CASE["head_dim"] ** -0.5


def inner_shift(xs):
    return [xs[r // SEATS * SEATS + (r - 1) % SEATS] for r in range(NODES * SEATS)]


def outer_shift(xs):
    return [xs[(r - SEATS) % (NODES * SEATS)] for r in range(NODES * SEATS)]


def owner_of(r, a, b):
    return (r // SEATS - a) % NODES * SEATS + (r - b) % SEATS


def masked_scores(q, k, see):
    return np.where(see, SCALE * q @ np.repeat(k, GROUP, 1).swapaxes(2, 3), np.float32(-np.inf))


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    out = [np.zeros_like(x) for x in qs]
    lse = [np.full(x.shape[:3] + (1,), -np.inf, np.float32) for x in qs]
    kb, vb = ks, vs
    for a in range(NODES):
        for b in range(SEATS):
            for r in range(n):
                s = masked_scores(qs[r], kb[r], visible(CASE, rows[r], rows[owner_of(r, a, b)]))
                new = np.logaddexp(lse[r], np.logaddexp.reduce(s, axis=3, keepdims=True))
                base = np.maximum(new, np.float32(-1e30))
                out[r] = out[r] * np.exp(lse[r] - base) + np.exp(s - base) @ np.repeat(vb[r], GROUP, 1)
                lse[r] = new
            kb, vb = inner_shift(kb), inner_shift(vb)
        kb, vb = outer_shift(kb), outer_shift(vb)

    delta = [(x * y).sum(3, keepdims=True) for x, y in zip(out, dos)]
    dk, dv = [np.zeros_like(x) for x in ks], [np.zeros_like(x) for x in vs]
    for a in range(NODES):
        dq = [np.zeros_like(x) for x in qs]
        for b in range(SEATS):
            for r in range(n):
                p = np.exp(masked_scores(qs[r], kb[r], visible(CASE, rows[r], rows[owner_of(r, a, b)])) - lse[r])
                ds = SCALE * p * (dos[r] @ np.repeat(vb[r], GROUP, 1).swapaxes(2, 3) - delta[r])
                dq[r] += ds @ np.repeat(kb[r], GROUP, 1)
                for h in range(CASE["heads"]):
                    dk[r][:, h // GROUP] += ds[:, h].swapaxes(1, 2) @ qs[r][:, h]
                    dv[r][:, h // GROUP] += p[:, h].swapaxes(1, 2) @ dos[r][:, h]
            kb, vb, dk, dv = map(inner_shift, (kb, vb, dk, dv))
        if a < NODES - 1:
            kb, vb, dk, dv = map(outer_shift, (kb, vb, dk, dv))
    return dict(out=gather(out, rows), lse=gather(lse, rows), dq=gather(dq, rows), dk=gather(dk, rows),
                dv=gather(dv, rows))
