# Mistake: In the sigmoid form of the merge the running lse is updated before the output, so the output's weight is sigmoid(block_lse - new lse) instead of sigmoid(block_lse - old lse); out is wrong, lse is right, and delta is then taken from this wrong out.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=5, layout="contiguous", causal=False, window=None, cu_seqlens=None, seqlen=52, heads=6, kv_heads=3,
            head_dim=8, batch=1, dtype="float64", backward=True)
GROUP = CASE["heads"] // CASE["kv_heads"]
SCALE = CASE["head_dim"] ** -0.5


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def log_sigmoid(x):
    return -np.logaddexp(0, -x)


def widen(x):
    return x.repeat(GROUP, axis=1)


def attend(q, k, v):
    s = SCALE * q @ widen(k).swapaxes(-1, -2)
    lse = np.logaddexp.reduce(s, axis=-1, keepdims=True)
    return np.exp(s - lse) @ widen(v), lse


def update(out, lse, block_out, block_lse):
    if out is None:
        return block_out, block_lse
    lse = lse - log_sigmoid(lse - block_lse)
    out = out - sigmoid(block_lse - lse) * (out - block_out)
    return out, lse


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    state = [(None, None)] * n
    kb, vb = ks, vs
    for _ in range(n):
        state = [update(*state[r], *attend(qs[r], kb[r], vb[r])) for r in range(n)]
        kb, vb = ring_shift(kb), ring_shift(vb)
    outs, lses = [o for o, _ in state], [z for _, z in state]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    for _ in range(n):
        for r in range(n):
            p = np.exp(SCALE * qs[r] @ widen(kb[r]).swapaxes(2, 3) - lses[r])
            dp = dos[r] @ widen(vb[r]).swapaxes(2, 3)
            ds = SCALE * p * (dp - (outs[r] * dos[r]).sum(-1, keepdims=True))
            dq[r] += ds @ widen(kb[r])
            for h in range(CASE["heads"]):
                dk[r][:, h // GROUP] += ds[:, h].swapaxes(1, 2) @ qs[r][:, h]
                dv[r][:, h // GROUP] += p[:, h].swapaxes(1, 2) @ dos[r][:, h]
        kb, vb, dk, dv = ring_shift(kb), ring_shift(vb), ring_shift(dk), ring_shift(dv)
    return {key: gather(x, rows) for key, x in zip(("out", "lse", "dq", "dk", "dv"), (outs, lses, dq, dk, dv))}
