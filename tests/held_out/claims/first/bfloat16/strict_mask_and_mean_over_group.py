# Mistake: a query sees the keys before it but not its own (forward and backward); the first row sees nothing and has out 0 and lse -inf.
# Also: dk and dv are the mean instead of the sum over the query heads of a group.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=3, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=38, heads=6, kv_heads=2,
            head_dim=8, batch=1, dtype="bfloat16", backward=True)
N, SCALE = CASE["ranks"], CASE["head_dim"] ** -0.5


def masked(s, i, j):
    return np.where(i[:, None] > j[None, :], s, -np.inf)


def finite(x):
    return np.where(np.isfinite(x), x, 0)


def run(q, k, v, dout):
    rows, kv_heads = dealt(CASE), CASE["kv_heads"]
    split = lambda x: x.reshape(x.shape[0], kv_heads, -1, x.shape[2], x.shape[3])
    qs, dos = [split(x) for x in scatter(q, rows)], [split(x) for x in scatter(dout, rows)]
    ks, vs = scatter(k, rows), scatter(v, rows)
    m = [np.full(x.shape[:4] + (1,), -np.inf) for x in qs]
    l, acc = [np.zeros(x.shape) for x in m], [np.zeros(x.shape) for x in qs]
    held = list(zip(ks, vs, rows))
    for t in range(N):
        for r in range(N):
            kb, vb, at = held[r]
            s = masked(SCALE * np.einsum("bcgid,bcjd->bcgij", qs[r], kb), rows[r], at)
            new = np.maximum(m[r], s.max(-1, keepdims=True))
            e, f = np.exp(s - finite(new)), np.exp(m[r] - finite(new))
            m[r], l[r] = new, l[r] * f + e.sum(-1, keepdims=True)
            acc[r] = acc[r] * f + np.einsum("bcgij,bcjd->bcgid", e, vb)
        held = ring_shift(held)
    outs = [a / np.where(x > 0, x, 1) for a, x in zip(acc, l)]
    with np.errstate(divide="ignore"):
        lses = [a + np.log(b) for a, b in zip(m, l)]

    dqs = [np.zeros_like(x) for x in qs]
    held = [(a, b, p, np.zeros_like(a), np.zeros_like(b)) for a, b, p in zip(ks, vs, rows)]
    for t in range(N):
        for r in range(N):
            kb, vb, at, dk, dv = held[r]
            p = np.exp(masked(SCALE * np.einsum("bcgid,bcjd->bcgij", qs[r], kb), rows[r], at) - finite(lses[r]))
            ds = SCALE * p * (np.einsum("bcgid,bcjd->bcgij", dos[r], vb) - (outs[r] * dos[r]).sum(-1, keepdims=True))
            dqs[r] += np.einsum("bcgij,bcjd->bcgid", ds, kb)
            dk += np.einsum("bcgij,bcgid->bcgjd", ds, qs[r]).mean(2)
            dv += np.einsum("bcgij,bcgid->bcgjd", p, dos[r]).mean(2)
        held = ring_shift(held)
    flat = lambda xs: gather([x.reshape(x.shape[0], CASE["heads"], x.shape[3], -1) for x in xs], rows)
    return dict(out=flat(outs), lse=flat(lses), dq=flat(dqs), dk=gather([x[3] for x in held], rows), dv=gather([x[4] for x in held], rows))
