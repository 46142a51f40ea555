# Mistake: a rank receives into buffers of the arriving block's length but takes only as many rows as its own shard has (10, 10, 9, 9 rows here): from the moment when a block of 10 rows has passed through a rank with 9 rows, its last key and value are zero rows, there and on all later ranks, which are still counted with score 0 in out and lse.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="contiguous", causal=False, window=None, cu_seqlens=None, seqlen=38,
            heads=4, kv_heads=2, head_dim=8, batch=2, dtype="float64", backward=False)

GROUP = CASE["heads"] // CASE["kv_heads"]
SCALE = CASE["head_dim"] ** -0.5


class Online:
    """The running softmax of one rank's queries."""

    def __init__(self, q):
        self.m = np.full(q.shape[:-1], -np.inf, q.dtype)
        self.l = np.zeros(q.shape[:-1], q.dtype)
        self.acc = np.zeros_like(q)

    def add(self, s, v):
        m = np.maximum(self.m, s.max(-1))
        safe = np.where(np.isfinite(m), m, 0).astype(s.dtype)
        p = np.exp(s - safe[..., None])
        c = np.exp(self.m - safe)
        self.l = self.l * c + p.sum(-1)
        self.acc = self.acc * c[..., None] + np.einsum("bgrqk,bgkd->bgrqd", p, v)
        self.m = m

    def done(self):
        return self.acc / self.l[..., None], self.m + np.log(self.l)


def grouped(x):
    b, h, s, d = x.shape
    return x.reshape(b, CASE["kv_heads"], GROUP, s, d)


def flat(x):
    return x.reshape(x.shape[0], CASE["heads"], *x.shape[3:])


def scores(q, k, see):
    s = np.einsum("bgrqd,bgkd->bgrqk", q, k) * SCALE
    return np.where(see, s, -np.inf).astype(q.dtype)


def receive(message, own, length):
    """k and v of the neighbour in fresh buffers of as many rows as the arriving block has."""
    buffers = [np.zeros(x.shape[:2] + (length, x.shape[3]), x.dtype) for x in message]
    for buffer, x in zip(buffers, message):
        buffer[:, :, :own] = x[:, :, :own]
    return tuple(buffers)


def run(q, k, v, dout):
    rows, n = dealt(CASE), CASE["ranks"]
    qs = [grouped(x) for x in scatter(q, rows)]
    kv = list(zip(scatter(k, rows), scatter(v, rows)))
    states = [Online(x) for x in qs]
    for step in range(n):
        for r in range(n):
            src = (r - step) % n
            kb, vb = kv[r]
            states[r].add(scores(qs[r], kb, visible(CASE, rows[r], rows[src])), vb)
        kv = [receive(kv[(r - 1) % n], len(rows[r]), len(rows[(r - step - 1) % n])) for r in range(n)]
    outs, lses = zip(*[state.done() for state in states])
    result = dict(out=gather([flat(o) for o in outs], rows), lse=gather([flat(x)[..., None] for x in lses], rows))
    if not CASE["backward"]:
        return result

    dos = [grouped(x) for x in scatter(dout, rows)]
    deltas = [(o * d).sum(-1) for o, d in zip(outs, dos)]
    dqs = [np.zeros_like(x) for x in qs]
    dkv = [(np.zeros_like(a), np.zeros_like(b)) for a, b in kv]
    for step in range(n):
        for r in range(n):
            src = (r - step) % n
            kb, vb = kv[r]
            dk, dv = dkv[r]
            p = np.exp(scores(qs[r], kb, visible(CASE, rows[r], rows[src])) - lses[r][..., None])
            dp = np.einsum("bgrqd,bgkd->bgrqk", dos[r], vb)
            ds = p * (dp - deltas[r][..., None]) * SCALE
            dqs[r] += np.einsum("bgrqk,bgkd->bgrqd", ds, kb)
            dk += np.einsum("bgrqk,bgrqd->bgkd", ds, qs[r])
            dv += np.einsum("bgrqk,bgrqd->bgkd", p, dos[r])
        kv, dkv = ring_shift(kv), ring_shift(dkv)
    dks, dvs = zip(*dkv)
    return dict(result, dq=gather([flat(x) for x in dqs], rows), dk=gather(dks, rows), dv=gather(dvs, rows))
