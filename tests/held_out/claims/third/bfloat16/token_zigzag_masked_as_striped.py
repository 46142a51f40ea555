# Mistake: The tokens are dealt in the token zig-zag, but the causal mask takes row i of rank r to be token i * ranks + r, as in the striped layout, although in every second round it is token i * ranks + ranks - 1 - r; in the forward and in the backward pass.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=4, layout="zigzag-token", causal=True, window=None, cu_seqlens=None, seqlen=48, heads=8, kv_heads=4,
            head_dim=8, batch=1, dtype="bfloat16", backward=True)
N, SCALE = CASE["ranks"], CASE["head_dim"] ** -0.5


def token(rank, row):
    return row * N + rank


def mask(r, owner, count):
    row = np.arange(count)
    return token(r, row)[:, None] >= token(owner, row)[None, :]


def run(q, k, v, dout):
    rows = dealt(CASE)
    G = CASE["heads"] // CASE["kv_heads"]
    f32 = lambda x: scatter(np.asarray(x, np.float32), rows)
    qs, ks, vs, dos = map(f32, (q, k, v, dout))
    flight = list(zip(ks, vs))
    acc = [np.zeros_like(x) for x in qs]
    m = [np.full(x.shape[:3] + (1,), -1e30, np.float32) for x in qs]
    l = [np.zeros_like(x) for x in m]
    for t in range(N):
        for r, (kb, vb) in enumerate(flight):
            see = mask(r, (r - t) % N, kb.shape[2])
            s = np.where(see, SCALE * qs[r] @ kb.repeat(G, 1).swapaxes(2, 3), np.float32(-np.inf))
            new = np.maximum(m[r], s.max(3, keepdims=True))
            p, keep = np.exp(s - new), np.exp(m[r] - new)
            acc[r] = keep * acc[r] + p @ vb.repeat(G, 1)
            l[r] = keep * l[r] + p.sum(3, keepdims=True)
            m[r] = new
        flight = ring_shift(flight)
    out = [a / b for a, b in zip(acc, l)]
    lse = [a + np.log(b) for a, b in zip(m, l)]
    dq = [np.zeros_like(x) for x in qs]
    flight = [(a, b, np.zeros_like(a), np.zeros_like(b)) for a, b in zip(ks, vs)]
    for t in range(N):
        for r, (kb, vb, dk, dv) in enumerate(flight):
            see = mask(r, (r - t) % N, kb.shape[2])
            for h in range(CASE["heads"]):
                x, y = qs[r][:, h], dos[r][:, h]
                p = np.where(see, np.exp(SCALE * x @ kb[:, h // G].swapaxes(1, 2) - lse[r][:, h]), np.float32(0))
                delta = (out[r][:, h] * y).sum(2, keepdims=True)
                ds = SCALE * p * (y @ vb[:, h // G].swapaxes(1, 2) - delta)
                dq[r][:, h] += ds @ kb[:, h // G]
                dk[:, h // G] += ds.swapaxes(1, 2) @ x
                dv[:, h // G] += p.swapaxes(1, 2) @ y
        flight = ring_shift(flight)
    _, _, dk, dv = zip(*flight)
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (out, lse, dq, dk, dv))))
