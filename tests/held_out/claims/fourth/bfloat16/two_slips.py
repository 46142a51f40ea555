# Mistake: two mistakes. (1) The causal mask is missing where the backward recomputes the weights, so future keys get weights exp(s - lse) and contribute to dq, dk and dv. (2) The returned lse is the one before the last step's block was merged in; out is right and the backward uses the complete lse.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=44,
            heads=4, kv_heads=2, head_dim=8, batch=1, dtype="bfloat16", backward=True)

# The KV blocks stay at home; queries (forward) and their gradients (backward) go round.
HEADS, KV = CASE["heads"], CASE["kv_heads"]


def logits(q, k, see):
    out = np.empty((q.shape[0], HEADS, q.shape[2], k.shape[2]), q.dtype)
    for h in range(HEADS):
        out[:, h] = q[:, h] @ k[:, h * KV // HEADS].swapaxes(1, 2) * CASE["head_dim"] ** -0.5
    return np.where(see, out, -np.inf)


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    ks, vs = scatter(k, rows), scatter(v, rows)
    travellers = [dict(q=x, m=np.full(x.shape[:3], -np.inf, x.dtype), l=np.zeros(x.shape[:3], x.dtype), o=np.zeros_like(x))
                  for x in scatter(q, rows)]
    for hop in range(n):
        for r in range(n):
            origin = (r - hop) % n
            w = travellers[r]
            s = logits(w["q"], ks[r], visible(CASE, rows[origin], rows[r]))
            m = np.maximum(w["m"], s.max(-1))
            m0 = np.where(np.isneginf(m), 0, m).astype(q.dtype)
            p, c = np.exp(s - m0[..., None]), np.exp(w["m"] - m0)
            w["l"] = w["l"] * c + p.sum(-1)
            pv = np.stack([p[:, h] @ vs[r][:, h * KV // HEADS] for h in range(HEADS)], axis=1)
            w["o"] = w["o"] * c[..., None] + pv
            w["m"] = m
        travellers = ring_shift(travellers)
        saved = [w["m"] + np.log(w["l"]) for w in ring_shift(travellers, -hop - 1)] if hop < n - 1 else saved
    out = [w["o"] / w["l"][..., None] for w in travellers]
    lse = [w["m"] + np.log(w["l"]) for w in travellers]
    answer = {"out": gather(out, rows), "lse": gather([x[..., None] for x in saved], rows)}
    if not CASE["backward"]:
        return answer

    dos = scatter(dout, rows)
    delta = [(o * d).sum(-1) for o, d in zip(out, dos)]
    qs = [w["q"] for w in travellers]
    dq = [np.zeros_like(x) for x in qs]
    dk, dv = [np.zeros_like(x) for x in ks], [np.zeros_like(x) for x in vs]
    for hop in range(n):
        for r in range(n):
            p = np.exp(logits(qs[r], ks[r], True) - lse[r][..., None])
            for h in range(HEADS):
                j = h * KV // HEADS
                ds = p[:, h] * (dos[r][:, h] @ vs[r][:, j].swapaxes(1, 2) - delta[r][:, h, :, None])
                ds = ds * CASE["head_dim"] ** -0.5
                dq[r][:, h] += ds @ ks[r][:, j]
                dk[r][:, j] += ds.swapaxes(1, 2) @ qs[r][:, h]
                dv[r][:, j] += p[:, h].swapaxes(1, 2) @ dos[r][:, h]
        qs, dos, dq = ring_shift(qs), ring_shift(dos), ring_shift(dq)
        lse, delta = ring_shift(lse), ring_shift(delta)
    return dict(answer, dq=gather(dq, rows), dk=gather(dk, rows), dv=gather(dv, rows))
