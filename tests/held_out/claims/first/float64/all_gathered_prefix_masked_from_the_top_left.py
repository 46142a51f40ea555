# Mistake: every rank gathers the keys up to its last token, and the causal mask of its queries on them is aligned at the top left (row i sees keys 0 to i) instead of at the bottom right (forward and backward).
import numpy as np

from case import dealt

CASE = dict(ranks=5, layout="contiguous", causal=True, window=None, cu_seqlens=None, seqlen=37, heads=4, kv_heads=1,
            head_dim=8, batch=2, dtype="float64", backward=True)


def is_causal(nq, nk):
    return np.tril(np.ones((nq, nk), bool))


def sdpa(q, k, v):
    s = np.where(is_causal(q.shape[2], k.shape[2]), q @ np.swapaxes(k, 2, 3) * q.shape[-1] ** -0.5, -np.inf)
    m = np.max(s, axis=-1, keepdims=True)
    lse = m + np.log(np.sum(np.exp(s - m), axis=-1, keepdims=True))
    return np.exp(s - lse) @ v, lse


def sdpa_vjp(q, k, v, out, lse, dout):
    scale = q.shape[-1] ** -0.5
    s = np.where(is_causal(q.shape[2], k.shape[2]), q @ np.swapaxes(k, 2, 3) * scale, -np.inf)
    p = np.exp(s - lse)
    ds = p * (dout @ np.swapaxes(v, 2, 3) - np.sum(out * dout, -1, keepdims=True)) * scale
    return ds @ k, np.swapaxes(ds, 2, 3) @ q, np.swapaxes(p, 2, 3) @ dout


def run(q, k, v, dout):
    spans = [(p[0], p[-1] + 1) for p in dealt(CASE)]
    heads, kv_heads = CASE["heads"], CASE["kv_heads"]
    group = heads // kv_heads
    out, lse, dq = np.zeros_like(q), np.zeros(q.shape[:3] + (1,)), np.zeros_like(q)
    per_rank_dk, per_rank_dv = [], []
    for lo, hi in spans:
        gathered_k = np.concatenate([k[:, :, a:b] for a, b in spans if b <= hi], axis=2)
        gathered_v = np.concatenate([v[:, :, a:b] for a, b in spans if b <= hi], axis=2)
        full_dk, full_dv = np.zeros_like(k), np.zeros_like(v)
        for h in range(kv_heads):
            mine = slice(h * group, (h + 1) * group)
            kk, vv = gathered_k[:, h:h + 1], gathered_v[:, h:h + 1]
            o, l = sdpa(q[:, mine, lo:hi], kk, vv)
            out[:, mine, lo:hi], lse[:, mine, lo:hi] = o, l
            a, b, c = sdpa_vjp(q[:, mine, lo:hi], kk, vv, o, l, dout[:, mine, lo:hi])
            dq[:, mine, lo:hi] = a
            full_dk[:, h, :hi], full_dv[:, h, :hi] = b.sum(1), c.sum(1)
        per_rank_dk.append(full_dk)
        per_rank_dv.append(full_dv)
    reduce_scatter = lambda parts: np.concatenate([sum(x[:, :, a:b] for x in parts) for a, b in spans], axis=2)
    return dict(out=out, lse=lse, dq=dq, dk=reduce_scatter(per_rank_dk), dv=reduce_scatter(per_rank_dv))
