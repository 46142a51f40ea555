# Mistake: The packed sequence of a token is found with searchsorted(cu_seqlens[1:], position, side="left") instead of side="right", so the first token of the second and of every later packed sequence counts as the last token of the one before it, in the forward and in the backward pass.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=4, layout="zigzag", causal=True, window=None, cu_seqlens=[0, 14, 19, 37, 52], seqlen=52, heads=4,
            kv_heads=2, head_dim=16, batch=1, dtype="bfloat16", backward=True)
GROUP, SCALE = CASE["heads"] // CASE["kv_heads"], CASE["head_dim"] ** -0.5


def document_of(positions):
    return np.searchsorted(CASE["cu_seqlens"][1:], positions, side="left")


def mask(qpos, kpos):
    return (document_of(qpos)[:, None] == document_of(kpos)[None, :]) & (qpos[:, None] >= kpos[None, :])


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    qs, ks, vs, dos = (scatter(x.astype(np.float32), rows) for x in (q, k, v, dout))
    outs = [np.zeros_like(x) for x in qs]
    lses = [np.full(x.shape[:3] + (1,), -np.inf, np.float32) for x in qs]
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            see = mask(rows[r], rows[(r - t) % n])
            if not see.any():
                continue
            s = SCALE * qs[r] @ np.repeat(kb[r], GROUP, 1).swapaxes(2, 3)
            s = np.where(see, s, np.float32(-np.inf))
            new = np.logaddexp(lses[r], np.logaddexp.reduce(s, axis=3, keepdims=True))
            base = np.where(np.isinf(new), np.float32(0), new)
            outs[r] = np.exp(lses[r] - base) * outs[r] + np.exp(s - base) @ np.repeat(vb[r], GROUP, 1)
            lses[r] = new
        kb, vb = ring_shift(kb), ring_shift(vb)
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    kb, vb = ks, vs
    for t in range(n):
        for r in range(n):
            see = mask(rows[r], rows[(r - t) % n])
            delta = (outs[r] * dos[r]).sum(3)
            for h in range(CASE["heads"]):
                g = h // GROUP
                s = SCALE * qs[r][:, h] @ kb[r][:, g].swapaxes(1, 2)
                p = np.where(see, np.exp(np.where(see, s, 0) - lses[r][:, h]), 0)
                ds = SCALE * p * (dos[r][:, h] @ vb[r][:, g].swapaxes(1, 2) - delta[:, h, :, None])
                dq[r][:, h] += ds @ kb[r][:, g]
                dk[r][:, g] += ds.swapaxes(1, 2) @ qs[r][:, h]
                dv[r][:, g] += p.swapaxes(1, 2) @ dos[r][:, h]
        kb, vb, dk, dv = map(ring_shift, (kb, vb, dk, dv))
    return dict(out=gather(outs, rows), lse=gather(lses, rows), dq=gather(dq, rows), dk=gather(dk, rows),
                dv=gather(dv, rows))
