# Mistake: where only the late half of a rank's queries meets a block, the merged out is written back but the merged lse is not, so later merges and the returned lse use the old one.
import numpy as np

from case import dealt, gather, halves, scatter

CASE = dict(ranks=5, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=53, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float32", backward=True)
N, HALF = CASE["ranks"], halves(CASE)
SCALE = CASE["head_dim"] ** -0.5


def rep(x):
    return np.repeat(x, CASE["heads"] // CASE["kv_heads"], axis=1)


def logits(q, k, causal):
    s = SCALE * (q @ rep(k).transpose(0, 1, 3, 2))
    return s + np.triu(np.full(s.shape[2:], -np.inf, s.dtype), 1) if causal else s


def attention(q, k, v, causal):
    s = logits(q, k, causal)
    top = s.max(-1, keepdims=True)
    e = np.exp(s - top)
    return e @ rep(v) / e.sum(-1, keepdims=True), top + np.log(e.sum(-1, keepdims=True))


def merge(o1, e1, o2, e2):
    e = np.logaddexp(e1, e2)
    return np.exp(e1 - e) * o1 + np.exp(e2 - e) * o2, e


def run(q, k, v, dout):
    rows = dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    out, lse = map(list, zip(*(attention(qs[r], ks[r], vs[r], True) for r in range(N))))
    for t in range(1, N):
        for r in range(N):
            src = (r - t) % N
            if src < r:
                early = np.s_[:, :, :HALF[src]]
                out[r], lse[r] = merge(out[r], lse[r], *attention(qs[r], ks[src][early], vs[src][early], False))
            else:
                late = np.s_[:, :, HALF[r]:]
                merged = merge(out[r][late], lse[r][late], *attention(qs[r][late], ks[src], vs[src], False))
                out[r][late] = merged[0]

    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    everything = np.s_[:, :, :]
    for t in range(N):
        for r in range(N):
            src = (r - t) % N
            a = np.s_[:, :, HALF[r]:] if src > r else everything
            b = np.s_[:, :, :HALF[src]] if src < r else everything
            p = np.exp(logits(qs[r][a], ks[src][b], src == r) - lse[r][a])
            ds = SCALE * p * (dos[r][a] @ rep(vs[src][b]).transpose(0, 1, 3, 2) - (dos[r][a] * out[r][a]).sum(-1, keepdims=True))
            dq[r][a] += ds @ rep(ks[src][b])
            for target, x, y in ((dk, ds, qs[r][a]), (dv, p, dos[r][a])):
                each = x.transpose(0, 1, 3, 2) @ y
                target[src][b] += each[:, 0::2] + each[:, 1::2]
    return dict(out=gather(out, rows), lse=gather(lse, rows), dq=gather(dq, rows), dk=gather(dk, rows), dv=gather(dv, rows))
