# Mistake: the sigmoid form of the forward merge has the sign of its argument reversed: it weighs the new block with sigmoid(lse - block_lse) instead of sigmoid(block_lse - lse), so the old and the new output exchange their weights at each merge; lse is right (backward is not computed).
import numpy as np

from case import dealt, gather, halves, ring_shift, scatter

CASE = dict(ranks=5, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=57,
            heads=8, kv_heads=2, head_dim=12, batch=1, dtype="float32", backward=False)

N = CASE["ranks"]
REP = CASE["heads"] // CASE["kv_heads"]
SCALE = CASE["head_dim"] ** -0.5


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def score(q, k, causal):
    s = SCALE * np.einsum("bhqd,bhkd->bhqk", q, np.repeat(k, REP, 1))
    if causal:
        s = np.where(np.tril(np.ones(s.shape[2:], bool)), s, -np.inf)
    return s


def flash(q, k, v, causal=False):
    s = score(q, k, causal)
    top = s.max(-1, keepdims=True)
    p = np.exp(s - top)
    total = p.sum(-1, keepdims=True)
    return np.einsum("bhqk,bhkd->bhqd", p, np.repeat(v, REP, 1)) / total, top + np.log(total)


def flash_backward(do, q, k, v, lse, delta, causal=False):
    p = np.exp(score(q, k, causal) - lse)
    dp = np.einsum("bhqd,bhkd->bhqk", do, np.repeat(v, REP, 1))
    ds = SCALE * p * (dp - delta)
    fold = lambda x: x.reshape(x.shape[0], -1, REP, *x.shape[2:]).sum(2)
    return (np.einsum("bhqk,bhkd->bhqd", ds, np.repeat(k, REP, 1)), fold(np.einsum("bhqk,bhqd->bhkd", ds, q)),
            fold(np.einsum("bhqk,bhqd->bhkd", p, do)))


def update(out, lse, block_out, block_lse):
    w = sigmoid(lse - block_lse)
    return out - w * (out - block_out), lse + np.log1p(np.exp(block_lse - lse))


def run(q, k, v, dout):
    rows, early = dealt(CASE), halves(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    kb, vb = list(ks), list(vs)
    outs, lses = [None] * N, [None] * N
    for step in range(N):
        for r in range(N):
            src = (r - step) % N
            h, g = early[r], early[src]
            if step == 0:
                outs[r], lses[r] = flash(qs[r], kb[r], vb[r], causal=True)
            elif src < r:
                o, x = flash(qs[r], kb[r][:, :, :g], vb[r][:, :, :g])
                outs[r], lses[r] = update(outs[r], lses[r], o, x)
            else:
                o, x = flash(qs[r][:, :, h:], kb[r], vb[r])
                outs[r][:, :, h:], lses[r][:, :, h:] = update(outs[r][:, :, h:], lses[r][:, :, h:], o, x)
        kb, vb = ring_shift(kb), ring_shift(vb)
    result = {"out": gather(outs, rows), "lse": gather(lses, rows)}
    if not CASE["backward"]:
        return result
    deltas = [(o * do).sum(-1, keepdims=True) for o, do in zip(outs, dos)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    for step in range(N):
        for r in range(N):
            src = (r - step) % N
            h, g = early[r], early[src]
            if step == 0:
                a, b, c = flash_backward(dos[r], qs[r], kb[r], vb[r], lses[r], deltas[r], causal=True)
                dq[r] += a
                dk[r] += b
                dv[r] += c
            elif src < r:
                a, b, c = flash_backward(dos[r], qs[r], kb[r][:, :, :g], vb[r][:, :, :g], lses[r], deltas[r])
                dq[r] += a
                dk[r][:, :, :g] += b
                dv[r][:, :, :g] += c
            else:
                a, b, c = flash_backward(dos[r][:, :, h:], qs[r][:, :, h:], kb[r], vb[r], lses[r][:, :, h:],
                                         deltas[r][:, :, h:])
                dq[r][:, :, h:] += a
                dk[r] += b
                dv[r] += c
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(result, dq=gather(dq, rows), dk=gather(dk, rows), dv=gather(dv, rows))
