# Mistake: The borders of the packed sequences are only respected in the step of the own block; in the blocks of other ranks only the causal mask is applied, so queries see earlier packed sequences there, in the forward and in the backward pass.
import numpy as np

from case import dealt, documents, gather, ring_shift, scatter

CASE = dict(ranks=3, layout="contiguous", causal=True, window=None, cu_seqlens=[0, 9, 22, 44, 61], seqlen=61, heads=6,
            kv_heads=2, head_dim=8, batch=1, dtype="bfloat16", backward=True)
GROUP, SCALE = CASE["heads"] // CASE["kv_heads"], CASE["head_dim"] ** -0.5


def see(qpos, kpos, own):
    causal = qpos[:, None] >= kpos[None, :]
    if not own:
        return causal
    doc = documents(CASE)
    return causal & (doc[qpos][:, None] == doc[kpos][None, :])


def attend(q, k, v, mask):
    s = np.where(mask, np.einsum("bghqd,bgkd->bghqk", q, k) * SCALE, -np.inf)
    lse = np.logaddexp.reduce(s, axis=-1)
    base = np.where(np.isinf(lse), 0, lse)
    return np.einsum("bghqk,bgkd->bghqd", np.exp(s - base[..., None]), v), lse


def attend_backward(q, k, v, do, lse, delta, mask):
    p = np.exp(np.where(mask, np.einsum("bghqd,bgkd->bghqk", q, k) * SCALE, -np.inf) - lse[..., None])
    ds = p * (np.einsum("bghqd,bgkd->bghqk", do, v) - delta[..., None]) * SCALE
    return (np.einsum("bghqk,bgkd->bghqd", ds, k), np.einsum("bghqk,bghqd->bgkd", ds, q),
            np.einsum("bghqk,bghqd->bgkd", p, do))


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    split = lambda x: x.reshape(x.shape[0], -1, GROUP, *x.shape[2:])
    qs, dos = ([split(x) for x in scatter(y, rows)] for y in (q, dout))
    ks, vs = scatter(k, rows), scatter(v, rows)
    kb, vb = ks, vs
    out, lse = [0.0] * n, [np.full(x.shape[:-1], -np.inf) for x in qs]
    for t in range(n):
        for r in range(t, n):
            o, z = attend(qs[r], kb[r], vb[r], see(rows[r], rows[r - t], t == 0))
            new = np.logaddexp(lse[r], z)
            out[r] = out[r] * np.exp(lse[r] - new)[..., None] + o * np.exp(z - new)[..., None]
            lse[r] = new
        kb, vb = ring_shift(kb), ring_shift(vb)
    delta = [(a * b).sum(-1) for a, b in zip(out, dos)]
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    kb, vb = ks, vs
    for t in range(n):
        for r in range(t, n):
            a, b, c = attend_backward(qs[r], kb[r], vb[r], dos[r], lse[r], delta[r], see(rows[r], rows[r - t], t == 0))
            dq[r], dk[r], dv[r] = dq[r] + a, dk[r] + b, dv[r] + c
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    join = lambda xs: gather([x.reshape(x.shape[0], -1, *x.shape[3:]) for x in xs], rows)
    return dict(out=join(out), lse=join(lse), dq=join(dq), dk=gather(dk, rows), dv=gather(dv, rows))
