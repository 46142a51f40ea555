# Mistake: the kernel works in powers of 2 and gives lse as m + ln(l) with m still in base 2, instead of (m + log2(l)) * ln 2; the backward pass uses this lse.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=5, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=57, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float64", backward=True)
LOG2E, LN2 = np.log2(np.e), np.log(2)


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    B, H, S, D = q.shape
    C = CASE["kv_heads"]
    sm = 1 / np.sqrt(D)
    Q, DO = ([x.reshape(B, C, H // C, -1, D) for x in scatter(y, rows)] for y in (q, dout))
    K, V = scatter(k, rows), scatter(v, rows)
    O, LSE = [], []
    for r in range(n):
        m = np.full(Q[r].shape[:4], -np.inf)
        l, acc = np.zeros(m.shape), np.zeros(Q[r].shape)
        for t in range(n):
            j = (r - t) % n
            see = visible(CASE, rows[r], rows[j])
            s2 = np.where(see, np.einsum("bcgid,bcjd->bcgij", Q[r], K[j]) * (sm * LOG2E), -np.inf)
            m2 = np.maximum(m, s2.max(-1))
            a, p = np.exp2(m - m2), np.exp2(s2 - m2[..., None])
            l, m = l * a + p.sum(-1), m2
            acc = acc * a[..., None] + np.einsum("bcgij,bcjd->bcgid", p, V[j])
        O.append(acc / l[..., None])
        LSE.append(m + np.log(l))

    dQ = [np.zeros_like(x) for x in Q]
    dK, dV = [np.zeros_like(x) for x in K], [np.zeros_like(x) for x in V]
    kb, vb = K, V
    for t in range(n):
        for r in range(n):
            see = visible(CASE, rows[r], rows[(r - t) % n])
            s = np.einsum("bcgid,bcjd->bcgij", Q[r], kb[r]) * sm
            p = np.where(see, np.exp(s - LSE[r][..., None]), 0)
            dp = np.einsum("bcgid,bcjd->bcgij", DO[r], vb[r])
            ds = p * (dp - (O[r] * DO[r]).sum(-1)[..., None]) * sm
            dQ[r] += np.einsum("bcgij,bcjd->bcgid", ds, kb[r])
            dK[r] += np.einsum("bcgij,bcgid->bcjd", ds, Q[r])
            dV[r] += np.einsum("bcgij,bcgid->bcjd", p, DO[r])
        kb, vb, dK, dV = [ring_shift(x) for x in (kb, vb, dK, dV)]
    flat = lambda xs, w: gather([x.reshape(B, H, -1, w) for x in xs], rows)
    return dict(out=flat(O, D), lse=flat(LSE, 1), dq=flat(dQ, D), dk=gather(dK, rows), dv=gather(dV, rows))
