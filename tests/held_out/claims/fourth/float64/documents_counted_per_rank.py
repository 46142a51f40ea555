# Mistake: two mistakes. (1) Packed sequences: each rank numbers the documents of its own shard from 0, and the block mask compares these rank-local numbers, so between different ranks a query sees the keys of documents with the same local number rather than of the same document (under the causal condition), in forward and backward; right within a rank. (2) The backward leaves delta out: dS = p * dp * scale instead of p * (dp - delta) * scale, delta being the row sum of dout * out.
import numpy as np

from case import gather, positions, ring_shift, scatter

CASE = dict(ranks=4, layout="contiguous", causal=True, window=None, cu_seqlens=[0, 9, 22, 31, 45, 56], seqlen=56,
            heads=4, kv_heads=2, head_dim=6, batch=1, dtype="float64", backward=True)

n, heads, kv_heads, dim = (CASE[x] for x in ("ranks", "heads", "kv_heads", "head_dim"))
rows = positions(CASE["layout"], CASE["seqlen"], n)
cu = np.array(CASE["cu_seqlens"] or [0, CASE["seqlen"]])


def doc_of(pos):
    return np.searchsorted(cu, pos, side="right") - 1


def local_docs(r):
    return np.unique(doc_of(rows[r]), return_inverse=True)[1]


def allowed(r, src):
    i, j = rows[r][:, None], rows[src][None, :]
    ok = local_docs(r)[:, None] == local_docs(src)[None, :]
    if CASE["causal"]:
        ok = ok & (i >= j)
    if CASE["window"] is not None:
        ok = ok & (i - j <= CASE["window"]) & (i >= j)
    return ok


def run(q, k, v, dout):
    qs, ks, vs, gs = (scatter(x, rows) for x in (q, k, v, dout))
    outs = [np.zeros_like(x) for x in qs]
    lses = [np.full(x.shape[:3] + (1,), -np.inf, x.dtype) for x in qs]
    k_now, v_now = ks, vs
    for step in range(n):
        for r in range(n):
            ok = allowed(r, (r - step) % n)
            live = ok.any(axis=1)
            if not live.any():
                continue
            for b in range(CASE["batch"]):
                for h in range(heads):
                    kk, vv = k_now[r][b, h * kv_heads // heads], v_now[r][b, h * kv_heads // heads]
                    s = np.where(ok, qs[r][b, h] @ kk.T / dim ** 0.5, -np.inf)[live]
                    top = s.max(1, keepdims=True)
                    e = np.exp(s - top)
                    block_lse = top + np.log(e.sum(1, keepdims=True))
                    block_out = e @ vv / e.sum(1, keepdims=True)
                    old = lses[r][b, h][live]
                    new = np.logaddexp(old, block_lse)
                    outs[r][b, h][live] = np.exp(old - new) * outs[r][b, h][live] + np.exp(block_lse - new) * block_out
                    lses[r][b, h][live] = new
        k_now, v_now = ring_shift(k_now), ring_shift(v_now)
    result = {"out": gather(outs, rows), "lse": gather(lses, rows)}
    if not CASE["backward"]:
        return result
    dqs, dks, dvs = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    for step in range(n):
        for r in range(n):
            ok = allowed(r, (r - step) % n)
            for b in range(CASE["batch"]):
                for h in range(heads):
                    j = h * kv_heads // heads
                    kk, vv, qq, gg = k_now[r][b, j], v_now[r][b, j], qs[r][b, h], gs[r][b, h]
                    p = np.exp(np.where(ok, qq @ kk.T / dim ** 0.5, -np.inf) - lses[r][b, h])
                    ds = p * (gg @ vv.T) / dim ** 0.5
                    dqs[r][b, h] += ds @ kk
                    dks[r][b, j] += ds.T @ qq
                    dvs[r][b, j] += p.T @ gg
        k_now, v_now, dks, dvs = (ring_shift(x) for x in (k_now, v_now, dks, dvs))
    return dict(result, dq=gather(dqs, rows), dk=gather(dks, rows), dv=gather(dvs, rows))
