# Mistake: in the backward pass keys stay at home and q, dout, lse and dq walk; delta does not walk with them, so every rank subtracts the delta of its own rows instead of that of the visiting rows.
import numpy as np

from case import dealt, documents, gather, ring_shift, scatter

CASE = dict(ranks=5, layout="contiguous", causal=True, window=None, cu_seqlens=[0, 9, 22, 35], seqlen=35, heads=4,
            kv_heads=2, head_dim=8, batch=1, dtype="float64", backward=True)


def allowed(qpos, kpos):
    doc = documents(CASE)
    return (kpos[None, :] <= qpos[:, None]) & (doc[kpos][None, :] == doc[qpos][:, None])


def expand(x):
    return np.repeat(x, CASE["heads"] // CASE["kv_heads"], axis=1)


def forward_kv_walks(q, k, v, pos):
    n = len(q)
    scale = CASE["head_dim"] ** -0.5
    best = [np.full(x.shape[:3], -np.inf) for x in q]
    norm = [np.zeros(x.shape[:3]) for x in q]
    acc = [np.zeros_like(x) for x in q]
    for t in range(n):
        for r in range(n):
            j = (r - t) % n
            see = allowed(pos[r], pos[j])
            if not see.any():
                continue
            s = np.where(see, scale * np.einsum("bhid,bhjd->bhij", q[r], expand(k[r])), -np.inf)
            new = np.maximum(best[r], s.max(3))
            fix = np.where(np.isneginf(new), 0, new)
            w, keep = np.exp(s - fix[..., None]), np.exp(best[r] - fix)
            norm[r] = keep * norm[r] + w.sum(3)
            acc[r] = keep[..., None] * acc[r] + np.einsum("bhij,bhjd->bhid", w, expand(v[r]))
            best[r] = new
        k, v = ring_shift(k), ring_shift(v)
    return [a / z[..., None] for a, z in zip(acc, norm)], [m + np.log(z) for m, z in zip(best, norm)]


def backward_q_walks(q, k, v, out, lse, dout, pos):
    n = len(q)
    scale = CASE["head_dim"] ** -0.5
    delta = [np.einsum("bhid,bhid->bhi", o, g) for o, g in zip(out, dout)]
    dq = [np.zeros_like(x) for x in q]
    dk, dv = [np.zeros_like(x) for x in k], [np.zeros_like(x) for x in v]
    fold = lambda x: x.reshape(x.shape[0], CASE["kv_heads"], -1, *x.shape[2:]).sum(2)
    for t in range(n):
        for r in range(n):
            who = (r - t) % n
            see = allowed(pos[who], pos[r])
            s = np.where(see, scale * np.einsum("bhid,bhjd->bhij", q[r], expand(k[r])), -np.inf)
            p = np.exp(s - lse[r][..., None])
            ds = scale * p * (np.einsum("bhid,bhjd->bhij", dout[r], expand(v[r])) - delta[r][..., None])
            dq[r] = dq[r] + np.einsum("bhij,bhjd->bhid", ds, expand(k[r]))
            dk[r] += fold(np.einsum("bhij,bhid->bhjd", ds, q[r]))
            dv[r] += fold(np.einsum("bhij,bhid->bhjd", p, dout[r]))
        q, dout, lse, dq = (ring_shift(x) for x in (q, dout, lse, dq))
    return dq, dk, dv


def run(q, k, v, dout):
    pos = dealt(CASE)
    qs, ks, vs, gs = (scatter(x, pos) for x in (q, k, v, dout))
    out, lse = forward_kv_walks(qs, ks, vs, pos)
    dq, dk, dv = backward_q_walks(qs, ks, vs, out, lse, gs, pos)
    return dict(out=gather(out, pos), lse=gather([x[..., None] for x in lse], pos), dq=gather(dq, pos),
                dk=gather(dk, pos), dv=gather(dv, pos))
