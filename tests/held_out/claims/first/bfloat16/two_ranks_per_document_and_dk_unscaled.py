# Mistake: under packed sequences a rank computes its own block and that of the rank before it only, instead of all blocks that hold keys of its sequences (forward and backward).
# Also: dk lacks the factor of the softmax scale.
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=5, layout="contiguous", causal=True, window=None, cu_seqlens=[0, 4, 38, 54], seqlen=54, heads=4,
            kv_heads=2, head_dim=8, batch=1, dtype="bfloat16", backward=True)
SCALE = CASE["head_dim"] ** -0.5


def sources(rank):
    return range(rank, max(rank - 2, -1), -1)


def run(q, k, v, dout):
    rows, n, g = dealt(CASE), CASE["ranks"], CASE["heads"] // CASE["kv_heads"]
    qs, dos = ([x.reshape(x.shape[0], -1, g, x.shape[2], x.shape[3]) for x in scatter(y, rows)] for y in (q, dout))
    ks, vs = scatter(k, rows), scatter(v, rows)
    outs, lses, dqs = [], [], []
    dks, dvs = [np.zeros_like(x) for x in ks], [np.zeros_like(x) for x in vs]
    for r in range(n):
        out, lse = np.zeros_like(qs[r]), np.full(qs[r].shape[:4] + (1,), -np.inf)
        for j in sources(r):
            see = visible(CASE, rows[r], rows[j])
            s = np.where(see, SCALE * np.einsum("bcgid,bcjd->bcgij", qs[r], ks[j]), -np.inf)
            with np.errstate(divide="ignore"):
                part = np.log(np.exp(s).sum(-1, keepdims=True))
            total = np.logaddexp(lse, part)
            out = np.exp(lse - total) * out + np.einsum("bcgij,bcjd->bcgid", np.exp(s - total), vs[j])
            lse = total
        outs.append(out)
        lses.append(lse)
    for r in range(n):
        dq, delta = np.zeros_like(qs[r]), (outs[r] * dos[r]).sum(-1, keepdims=True)
        for j in sources(r):
            see = visible(CASE, rows[r], rows[j])
            p = np.where(see, np.exp(SCALE * np.einsum("bcgid,bcjd->bcgij", qs[r], ks[j]) - lses[r]), 0)
            ds = p * (np.einsum("bcgid,bcjd->bcgij", dos[r], vs[j]) - delta)
            dq += SCALE * np.einsum("bcgij,bcjd->bcgid", ds, ks[j])
            dks[j] += np.einsum("bcgij,bcgid->bcjd", ds, qs[r])
            dvs[j] += np.einsum("bcgij,bcgid->bcjd", p, dos[r])
        dqs.append(dq)
    flat = lambda xs: gather([x.reshape(x.shape[0], -1, x.shape[3], x.shape[4]) for x in xs], rows)
    return dict(out=flat(outs), lse=flat(lses), dq=flat(dqs), dk=gather(dks, rows), dv=gather(dvs, rows))
