# Mistakes: dv is averaged over the query heads of a group and not summed (dk is summed). And rank 0 does not add the
# own block (step 0) to its dq.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=3, layout="contiguous", causal=True, window=None, cu_seqlens=[0, 9, 10, 33], seqlen=33, heads=6,
            kv_heads=2, head_dim=4, batch=1, dtype="float64", backward=True)
GROUP = CASE["heads"] // CASE["kv_heads"]
SCALE = CASE["head_dim"] ** -0.5
fold = lambda x: x.reshape(x.shape[0], CASE["kv_heads"], GROUP, x.shape[2], x.shape[3])
flat = lambda x: x.reshape(x.shape[0], -1, x.shape[3], x.shape[4])


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    Q, G = ([fold(x) for x in scatter(y, rows)] for y in (q, dout))
    letters = list(zip(scatter(k, rows), scatter(v, rows), rows))
    weigh = lambda r, kb, at: np.where(visible(CASE, rows[r], at), SCALE * np.einsum("bkgid,bkjd->bkgij", Q[r], kb), -np.inf)
    num, den = [0.0] * n, [0.0] * n
    for _ in range(n):
        for r, (kb, vb, at) in enumerate(letters):
            e = np.exp(weigh(r, kb, at))
            num[r] = num[r] + np.einsum("bkgij,bkjd->bkgid", e, vb)
            den[r] = den[r] + e.sum(-1, keepdims=True)
        letters = ring_shift(letters)
    O = [a / b for a, b in zip(num, den)]
    L = [np.log(b) for b in den]
    D = [np.sum(a * b, -1, keepdims=True) for a, b in zip(O, G)]
    dq = [np.zeros(x.shape) for x in Q]
    letters = [(kb, vb, at, np.zeros_like(kb), np.zeros_like(vb)) for kb, vb, at in letters]
    for step in range(n):
        for r, (kb, vb, at, dk, dv) in enumerate(letters):
            p = np.exp(weigh(r, kb, at) - L[r])
            ds = SCALE * p * (np.einsum("bkgid,bkjd->bkgij", G[r], vb) - D[r])
            if step or r:
                dq[r] += np.einsum("bkgij,bkjd->bkgid", ds, kb)
            dk += np.einsum("bkgij,bkgid->bkjd", ds, Q[r])
            dv += np.einsum("bkgij,bkgid->bkgjd", p, G[r]).mean(2)
        letters = ring_shift(letters)
    g = lambda xs: gather(list(xs), rows)
    return dict(out=g(map(flat, O)), lse=g(map(flat, L)), dq=g(map(flat, dq)), dk=g(x[3] for x in letters),
                dv=g(x[4] for x in letters))
