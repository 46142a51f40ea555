# Mistake: bidirectional ring with an even number of ranks: the block of the opposite rank (r + n/2) arrives from both sides at the last step and is counted twice, in the forward softmax (out, lse: its keys have double weight) and in the backward (its contributions to dq, dk, dv are added twice, with weights from that lse).
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=6, layout="zigzag-token", causal=True, window=None, cu_seqlens=None, seqlen=74,
            heads=4, kv_heads=2, head_dim=8, batch=1, dtype="float64", backward=True)

n = CASE["ranks"]
rep = CASE["heads"] // CASE["kv_heads"]
alpha = CASE["head_dim"] ** -0.5


class Rank:
    def __init__(self, index, rows, q, do):
        self.index, self.rows, self.q, self.do = index, rows, q, do
        self.out, self.lse = np.zeros_like(q), np.full(q.shape[:3], -np.inf, q.dtype)
        self.dq = np.zeros_like(q)

    def logits(self, k, src):
        s = alpha * np.einsum("bhqd,bhkd->bhqk", self.q, k.repeat(rep, axis=1))
        return np.where(visible(CASE, self.rows[self.index], self.rows[src]), s, -np.inf)

    def attend(self, block, src):
        k, v = block
        s = self.logits(k, src)
        lse = np.logaddexp(self.lse, np.logaddexp.reduce(s, axis=3))
        p = np.exp(s - lse[..., None])
        self.out = self.out * np.exp(self.lse - lse)[..., None] + np.einsum("bhqk,bhkd->bhqd", p, v.repeat(rep, axis=1))
        self.lse = lse

    def gradients(self, block, src):
        k, v = block
        p = np.exp(self.logits(k, src) - self.lse[..., None])
        delta = np.einsum("bhqd,bhqd->bhq", self.out, self.do)
        ds = alpha * p * (np.einsum("bhqd,bhkd->bhqk", self.do, v.repeat(rep, axis=1)) - delta[..., None])
        self.dq += np.einsum("bhqk,bhkd->bhqd", ds, k.repeat(rep, axis=1))
        dk, dv = np.einsum("bhqk,bhqd->bhkd", ds, self.q), np.einsum("bhqk,bhqd->bhkd", p, self.do)
        b, h, s, d = dk.shape
        return dk.reshape(b, -1, rep, s, d).sum(2), dv.reshape(b, -1, rep, s, d).sum(2)


def add(grads, new):
    return grads[0] + new[0], grads[1] + new[1]


def run(q, k, v, dout):
    rows = dealt(CASE)
    ranks = [Rank(r, rows, a, b) for r, (a, b) in enumerate(zip(scatter(q, rows), scatter(dout, rows)))]
    home = list(zip(scatter(k, rows), scatter(v, rows)))
    for rank, block in zip(ranks, home):
        rank.attend(block, rank.index)
    up, down = home, home
    for t in range(1, n // 2 + 1):
        up, down = ring_shift(up, 1), ring_shift(down, -1)
        for r, rank in enumerate(ranks):
            rank.attend(up[r], (r - t) % n)
            rank.attend(down[r], (r + t) % n)
    answer = dict(out=gather([x.out for x in ranks], rows), lse=gather([x.lse[..., None] for x in ranks], rows))
    if not CASE["backward"]:
        return answer
    total = [rank.gradients(block, rank.index) for rank, block in zip(ranks, home)]
    zero = [(np.zeros_like(a), np.zeros_like(b)) for a, b in home]
    up, down, grad_up, grad_down = home, home, zero, zero
    for t in range(1, n // 2 + 1):
        up, down = ring_shift(up, 1), ring_shift(down, -1)
        grad_up, grad_down = ring_shift(grad_up, 1), ring_shift(grad_down, -1)
        for r, rank in enumerate(ranks):
            grad_up[r] = add(grad_up[r], rank.gradients(up[r], (r - t) % n))
            grad_down[r] = add(grad_down[r], rank.gradients(down[r], (r + t) % n))
    grad_up, grad_down = ring_shift(grad_up, -(n // 2)), ring_shift(grad_down, n // 2)
    total = [add(add(a, b), c) for a, b, c in zip(total, grad_up, grad_down)]
    return dict(answer, dq=gather([x.dq for x in ranks], rows), dk=gather([x[0] for x in total], rows),
                dv=gather([x[1] for x in total], rows))
