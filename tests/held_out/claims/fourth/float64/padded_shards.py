# Mistake: shards are padded with zero rows to the longest shard and the padding keys are not masked out, so every query counts one padding key with score 0 (and value 0) for each rank whose shard is shorter than the longest (ranks 1, 2, 3 here), in forward (out, lse) and in the weights of the backward, which uses that lse and out.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=4, layout="contiguous", causal=False, window=None, cu_seqlens=None, seqlen=41,
            heads=6, kv_heads=3, head_dim=8, batch=1, dtype="float64", backward=True)

RANKS = CASE["ranks"]
TIMES = CASE["heads"] // CASE["kv_heads"]
ROWS = dealt(CASE)
LENGTH = max(len(p) for p in ROWS)


def pad(x):
    """Shards of equal length: zeros behind the tokens of the rank."""
    return np.pad(x, ((0, 0), (0, 0), (0, LENGTH - x.shape[2]), (0, 0)))


def cut(xs):
    return [x[:, :, :len(p)] for x, p in zip(xs, ROWS)]


def seen(r, src):
    mask = np.zeros((LENGTH, LENGTH), bool)
    mask[:len(ROWS[r])] = True
    return mask


def heads(x):
    return np.concatenate([x[:, h // TIMES:h // TIMES + 1] for h in range(CASE["heads"])], axis=1)


def unheads(x):
    return np.stack([x[:, j * TIMES:(j + 1) * TIMES].sum(1) for j in range(CASE["kv_heads"])], axis=1)


def run(q, k, v, dout):
    scale = CASE["head_dim"] ** -0.5
    q, k, v, dout = ([pad(x) for x in scatter(x, ROWS)] for x in (q, k, v, dout))
    kbuf, vbuf = k, v
    o = [np.zeros_like(x) for x in q]
    l = [np.zeros_like(x[..., 0]) for x in q]
    m = [np.full_like(x[..., 0], -1e30) for x in q]
    for step in range(RANKS):
        for r in range(RANKS):
            src = (r - step) % RANKS
            s = np.matmul(q[r], heads(kbuf[r]).swapaxes(2, 3)) * scale
            mask = seen(r, src)
            m_new = np.maximum(m[r], np.where(mask, s, -1e30).max(3).astype(q[r].dtype))
            p = np.where(mask, np.exp(np.minimum(s - m_new[..., None], 0)), 0).astype(q[r].dtype)
            c = np.exp(m[r] - m_new)
            l[r] = c * l[r] + p.sum(3)
            o[r] = c[..., None] * o[r] + np.matmul(p, heads(vbuf[r]))
            m[r] = m_new
        kbuf, vbuf = ring_shift(kbuf), ring_shift(vbuf)
    l = [np.where(x == 0, 1, x).astype(q[0].dtype) for x in l]
    out = [a / b[..., None] for a, b in zip(o, l)]
    lse = [a + np.log(b) for a, b in zip(m, l)]
    found = dict(out=gather(cut(out), ROWS), lse=gather(cut([x[..., None] for x in lse]), ROWS))
    if CASE["backward"]:
        delta = [(a * b).sum(3) for a, b in zip(out, dout)]
        dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (q, k, v))
        for step in range(RANKS):
            for r in range(RANKS):
                src = (r - step) % RANKS
                s = np.matmul(q[r], heads(kbuf[r]).swapaxes(2, 3)) * scale
                mask = seen(r, src)
                p = np.exp(np.where(mask, s, -np.inf) - np.where(lse[r] < -1e29, 0, lse[r])[..., None]).astype(q[r].dtype)
                ds = p * (np.matmul(dout[r], heads(vbuf[r]).swapaxes(2, 3)) - delta[r][..., None]) * scale
                dq[r] += np.matmul(ds, heads(kbuf[r]))
                dk[r] += unheads(np.matmul(ds.swapaxes(2, 3), q[r]))
                dv[r] += unheads(np.matmul(p.swapaxes(2, 3), dout[r]))
            kbuf, vbuf, dk, dv = (ring_shift(x) for x in (kbuf, vbuf, dk, dv))
        found.update(dq=gather(cut(dq), ROWS), dk=gather(cut(dk), ROWS), dv=gather(cut(dv), ROWS))
    return found
