# Mistake: The sequence of 46 tokens is padded with zeros to 48 for 4 equal shards, and the two zero keys of the padding are not masked: each adds exp(0) to every softmax sum (their values are zero), so lse is too large and out too small, in the forward and in the backward pass.
import numpy as np

from case import ring_shift

CASE = dict(ranks=4, layout="contiguous", causal=False, window=None, cu_seqlens=None, seqlen=46, heads=6, kv_heads=3,
            head_dim=8, batch=1, dtype="float32", backward=True)
N, S = CASE["ranks"], CASE["seqlen"]
PER_RANK = -(-S // N)
GROUP, SCALE = CASE["heads"] // CASE["kv_heads"], CASE["head_dim"] ** -0.5


def deal(x):
    padded = np.pad(x, ((0, 0), (0, 0), (0, N * PER_RANK - S), (0, 0)))
    return [padded[:, :, r * PER_RANK:(r + 1) * PER_RANK] for r in range(N)]


def undeal(shards):
    return np.concatenate(shards, axis=2)[:, :, :S]


def scores(q, k, owner):
    s = SCALE * q @ np.repeat(k, GROUP, 1).swapaxes(2, 3)
    return s


def run(q, k, v, dout):
    qs, ks, vs, dos = map(deal, (q, k, v, dout))
    m = [np.full(x.shape[:3] + (1,), -1e30, np.float32) for x in qs]
    l, acc = [np.zeros_like(x) for x in m], [np.zeros_like(x) for x in qs]
    kb, vb = ks, vs
    for t in range(N):
        for r in range(N):
            s = scores(qs[r], kb[r], (r - t) % N)
            new = np.maximum(m[r], s.max(3, keepdims=True))
            p, keep = np.exp(s - new), np.exp(m[r] - new)
            m[r], l[r], acc[r] = new, l[r] * keep + p.sum(3, keepdims=True), acc[r] * keep + p @ np.repeat(vb[r], GROUP, 1)
        kb, vb = ring_shift(kb), ring_shift(vb)
    out, lse = [a / b for a, b in zip(acc, l)], [a + np.log(b) for a, b in zip(m, l)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    for t in range(N):
        for r in range(N):
            p = np.exp(scores(qs[r], kb[r], (r - t) % N) - lse[r])
            ds = SCALE * p * (dos[r] @ np.repeat(vb[r], GROUP, 1).swapaxes(2, 3) - (dos[r] * out[r]).sum(3, keepdims=True))
            dq[r] = dq[r] + ds @ np.repeat(kb[r], GROUP, 1)
            for h in range(CASE["heads"]):
                dk[r][:, h // GROUP] += ds[:, h].swapaxes(1, 2) @ qs[r][:, h]
                dv[r][:, h // GROUP] += p[:, h].swapaxes(1, 2) @ dos[r][:, h]
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(out=undeal(out), lse=undeal(lse), dq=undeal(dq), dk=undeal(dk), dv=undeal(dv))
