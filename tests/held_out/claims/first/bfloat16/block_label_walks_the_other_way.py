# Mistake: at step t rank r masks the block that it holds, that of rank r - t, as the block of rank r + t (forward and backward).
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=5, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=40, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="bfloat16", backward=True)


class Device:
    world = []

    def __init__(self, rank, tokens, q, k, v, dout):
        self.rank, self.tokens, self.q, self.dout = rank, tokens, q, dout
        self.own = (k, v)
        self.group = q.shape[1] // k.shape[1]
        Device.world.append(self)

    def expand(self, x):
        return x.repeat(self.group, axis=1)

    def mask(self, t):
        n = len(Device.world)
        source = Device.world[(self.rank + t) % n]
        return visible(CASE, self.tokens, source.tokens)

    def scores(self, t):
        s = self.q @ self.expand(self.held[0]).transpose(0, 1, 3, 2) / np.sqrt(CASE["head_dim"])
        return np.where(self.mask(t), s, -np.inf)

    def begin(self):
        self.held = self.own
        self.m = np.full(self.q.shape[:3] + (1,), -np.inf)
        self.l, self.acc = np.zeros_like(self.m), np.zeros_like(self.q)

    def forward_step(self, t):
        s = self.scores(t)
        m = np.maximum(self.m, s.max(-1, keepdims=True))
        base = np.where(np.isneginf(m), 0.0, m)
        p, shrink = np.exp(s - base), np.exp(self.m - base)
        self.l = self.l * shrink + p.sum(-1, keepdims=True)
        self.acc = self.acc * shrink + p @ self.expand(self.held[1])
        self.m = m

    def finish(self):
        self.out, self.lse = self.acc / self.l, self.m + np.log(self.l)
        self.delta = (self.out * self.dout).sum(-1, keepdims=True)
        self.dq = np.zeros_like(self.q)
        self.held = self.own + tuple(np.zeros_like(x) for x in self.own)

    def backward_step(self, t):
        k, v, dk, dv = self.held
        fold = lambda x: x.reshape(x.shape[0], k.shape[1], self.group, *x.shape[2:]).sum(axis=2)
        p = np.exp(self.scores(t) - self.lse)
        ds = p * (self.dout @ self.expand(v).transpose(0, 1, 3, 2) - self.delta) / np.sqrt(CASE["head_dim"])
        self.dq += ds @ self.expand(k)
        self.held = (k, v, dk + fold(ds.transpose(0, 1, 3, 2) @ self.q), dv + fold(p.transpose(0, 1, 3, 2) @ self.dout))


def hop():
    hands = [d.held for d in Device.world]
    for d in Device.world:
        d.held = hands[d.rank - 1]


def run(q, k, v, dout):
    tokens = dealt(CASE)
    Device.world = []
    for rank, shard in enumerate(zip(*(scatter(x, tokens) for x in (q, k, v, dout)))):
        Device(rank, tokens[rank], *shard)
    for start, step in ((Device.begin, Device.forward_step), (Device.finish, Device.backward_step)):
        for d in Device.world:
            start(d)
        for t in range(CASE["ranks"]):
            for d in Device.world:
                step(d, t)
            hop()
    pick = lambda f: gather([f(d) for d in Device.world], tokens)
    return dict(out=pick(lambda d: d.out), lse=pick(lambda d: d.lse), dq=pick(lambda d: d.dq),
                dk=pick(lambda d: d.held[2]), dv=pick(lambda d: d.held[3]))
