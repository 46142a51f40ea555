# Mistake: where only the early half of a block's keys is seen, their dk and dv are added to the rows of the late half of the sums instead of the early half.
import numpy as np

from case import dealt, gather, halves, ring_shift, scatter

CASE = dict(ranks=3, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=42, heads=4, kv_heads=2,
            head_dim=8, batch=2, dtype="float32", backward=True)
N, SCALE = CASE["ranks"], CASE["head_dim"] ** -0.5
M = halves(CASE)[0]


class Peer:
    def __init__(self, rank, q, k, v, do):
        self.rank, self.q, self.k, self.v, self.do = rank, q, k, v, do
        self.o, self.lse, self.dq = None, None, np.zeros_like(q)

    def pair(self, q, k, v, causal):
        g = q.shape[1] // k.shape[1]
        s = SCALE * np.einsum("bhqd,bhkd->bhqk", q, np.repeat(k, g, 1))
        if causal:
            s[:, :, np.arange(2 * M)[:, None] < np.arange(2 * M)] = -np.inf
        return s, np.repeat(v, g, 1)

    def forward(self, step, k, v):
        rows, keys = self.area(step)
        s, v = self.pair(self.q[:, :, rows], k[:, :, keys], v[:, :, keys], step == 0)
        lse = s.max(3, keepdims=True)
        lse = lse + np.log(np.exp(s - lse).sum(3, keepdims=True))
        o = np.einsum("bhqk,bhkd->bhqd", np.exp(s - lse), v)
        if step == 0:
            self.o, self.lse = o, lse
            return
        total = np.logaddexp(self.lse[:, :, rows], lse)
        self.o[:, :, rows] = self.o[:, :, rows] * np.exp(self.lse[:, :, rows] - total) + o * np.exp(lse - total)
        self.lse[:, :, rows] = total

    def area(self, step):
        if step == 0:
            return slice(0, 2 * M), slice(0, 2 * M)
        return (slice(0, 2 * M), slice(0, M)) if step <= self.rank else (slice(M, 2 * M), slice(0, 2 * M))

    def backward(self, step, k, v, dk, dv):
        rows, keys = self.area(step)
        s, vw = self.pair(self.q[:, :, rows], k[:, :, keys], v[:, :, keys], step == 0)
        p = np.exp(s - self.lse[:, :, rows])
        do = self.do[:, :, rows]
        ds = p * (do @ vw.swapaxes(2, 3) - (do * self.o[:, :, rows]).sum(3, keepdims=True)) * SCALE
        self.dq[:, :, rows] += ds @ np.repeat(k[:, :, keys], p.shape[1] // k.shape[1], 1)
        into = slice(M, 2 * M) if keys.stop == M else keys
        fold = lambda x: x.reshape(x.shape[0], k.shape[1], -1, x.shape[2], x.shape[3]).sum(2)
        dk[:, :, into] += fold(ds.swapaxes(2, 3) @ self.q[:, :, rows])
        dv[:, :, into] += fold(p.swapaxes(2, 3) @ do)


def run(q, k, v, dout):
    rows = dealt(CASE)
    peers = [Peer(i, *x) for i, x in enumerate(zip(*(scatter(y, rows) for y in (q, k, v, dout))))]
    hand = [(p.k, p.v, np.zeros_like(p.k), np.zeros_like(p.v)) for p in peers]
    for step in range(N):
        for p, x in zip(peers, hand):
            p.forward(step, *x[:2])
        hand = ring_shift(hand)
    for step in range(N):
        for p, x in zip(peers, hand):
            p.backward(step, *x)
        hand = ring_shift(hand)
    return dict(out=gather([p.o for p in peers], rows), lse=gather([p.lse for p in peers], rows),
                dq=gather([p.dq for p in peers], rows), dk=gather([x[2] for x in hand], rows), dv=gather([x[3] for x in hand], rows))
