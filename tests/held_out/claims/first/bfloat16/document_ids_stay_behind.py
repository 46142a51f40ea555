# Mistake: the keys of an arriving block are given the packed-sequence numbers of the receiving rank's own rows instead of those of the block's rows (forward and backward); the causal mask is right.
import numpy as np

from case import dealt, documents, gather, scatter

CASE = dict(ranks=3, layout="contiguous", causal=True, window=None, cu_seqlens=[0, 5, 20, 29, 36], seqlen=36, heads=4,
            kv_heads=2, head_dim=8, batch=2, dtype="bfloat16", backward=True)


class Worker:
    def __init__(self, tokens, q, k, v, dout):
        self.tokens, self.q, self.k, self.v, self.dout = tokens, q, k, v, dout
        self.documents = documents(CASE)[tokens]
        self.message = dict(k=k, v=v, tokens=tokens, documents=self.documents)
        self.grads = dict(k=np.zeros_like(k), v=np.zeros_like(v))
        self.m = np.full(q.shape[:3] + (1,), -np.inf)
        self.l, self.o, self.dq = 0 * np.exp(self.m), np.zeros_like(q), np.zeros_like(q)

    def logits(self, msg):
        same = self.documents[:, None] == self.documents[None, :]
        past = self.tokens[:, None] >= msg["tokens"][None, :]
        k = np.repeat(msg["k"], CASE["heads"] // CASE["kv_heads"], axis=1)
        s = np.einsum("bhqd,bhkd->bhqk", self.q, k) / CASE["head_dim"] ** 0.5
        return np.where(same & past, s, -np.inf)

    def fold_in(self, msg):
        s = self.logits(msg)
        new = np.maximum(self.m, np.max(s, axis=3, keepdims=True))
        shift = np.where(np.isfinite(new), new, 0)
        e, f = np.exp(s - shift), np.exp(self.m - shift)
        self.o = self.o * f + e @ np.repeat(msg["v"], CASE["heads"] // CASE["kv_heads"], axis=1)
        self.l = self.l * f + e.sum(axis=3, keepdims=True)
        self.m = new

    def close(self):
        self.out, self.lse = self.o / self.l, self.m + np.log(self.l)

    def gradients(self, msg, grads):
        g = CASE["heads"] // CASE["kv_heads"]
        p = np.exp(self.logits(msg) - self.lse)
        dp = self.dout @ np.repeat(msg["v"], g, axis=1).swapaxes(2, 3)
        ds = p * (dp - np.sum(self.out * self.dout, axis=3, keepdims=True)) / CASE["head_dim"] ** 0.5
        self.dq = self.dq + ds @ np.repeat(msg["k"], g, axis=1)
        for c in range(CASE["kv_heads"]):
            for h in range(c * g, c * g + g):
                grads["k"][:, c] += ds[:, h].swapaxes(1, 2) @ self.q[:, h]
                grads["v"][:, c] += p[:, h].swapaxes(1, 2) @ self.dout[:, h]


def run(q, k, v, dout):
    rows, n = dealt(CASE), CASE["ranks"]
    ring = [Worker(rows[i], *x) for i, x in enumerate(zip(*(scatter(y, rows) for y in (q, k, v, dout))))]
    for t in range(n):
        for i, w in enumerate(ring):
            w.fold_in(ring[i - t].message)
    for w in ring:
        w.close()
    for t in range(n):
        for i, w in enumerate(ring):
            w.gradients(ring[i - t].message, ring[i - t].grads)
    take = lambda f: gather([f(w) for w in ring], rows)
    return dict(out=take(lambda w: w.out), lse=take(lambda w: w.lse), dq=take(lambda w: w.dq),
                dk=take(lambda w: w.grads["k"]), dv=take(lambda w: w.grads["v"]))
