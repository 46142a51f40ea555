# Mistake: In the double ring (2 outer x 3 inner ranks) the blocks make only 2 of the 3 inner hops before the outer hop, but the labels of the second outer round assume that they are back at their inner start; so in that round the mask (causal with window) is taken at the positions of a wrong rank of the node.
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=6, layout="striped", causal=True, window=13, cu_seqlens=None, seqlen=48, heads=8, kv_heads=4,
            head_dim=16, batch=1, dtype="float64", backward=False)
OUTER, INNER = 2, 3


class Worker:
    """One rank: node o, seat i."""

    def __init__(self, o, i, q, k, v, rows):
        self.o, self.i, self.rows = o, i, rows
        self.q = q / np.sqrt(q.shape[-1])
        self.kv = (k, v)
        self.top = np.full(q.shape[:3], -np.inf)
        self.total = np.zeros(q.shape[:3])
        self.sum = np.zeros_like(q)

    def step(self, outer_step, inner_step):
        k, v = (np.repeat(x, CASE["heads"] // CASE["kv_heads"], axis=1) for x in self.kv)
        owner = (self.o - outer_step) % OUTER * INNER + (self.i - inner_step) % INNER
        see = visible(CASE, self.rows[self.o * INNER + self.i], self.rows[owner])
        if not see.any():
            return
        s = np.where(see, np.einsum("bhqd,bhkd->bhqk", self.q, k), -np.inf)
        new = np.maximum(self.top, s.max(-1))
        base = np.where(np.isinf(new), 0, new)
        p, old = np.exp(s - base[..., None]), np.exp(self.top - base)
        self.total = self.total * old + p.sum(-1)
        self.sum = self.sum * old[..., None] + np.einsum("bhqk,bhkd->bhqd", p, v)
        self.top = new


def run(q, k, v, dout):
    rows = dealt(CASE)
    shards = list(zip(*(scatter(x, rows) for x in (q, k, v))))
    crew = [Worker(r // INNER, r % INNER, *shards[r], rows) for r in range(OUTER * INNER)]
    for outer_step in range(OUTER):
        for inner_step in range(INNER):
            for w in crew:
                w.step(outer_step, inner_step)
            if inner_step < INNER - 1:
                moving = [w.kv for w in crew]
                for w in crew:
                    w.kv = moving[w.o * INNER + (w.i - 1) % INNER]
        moving = [w.kv for w in crew]
        for w in crew:
            w.kv = moving[(w.o - 1) % OUTER * INNER + w.i]
    return dict(out=gather([w.sum / w.total[..., None] for w in crew], rows),
                lse=gather([w.top + np.log(w.total) for w in crew], rows))
