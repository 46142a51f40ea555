# Mistake: the parts of all steps are put together at the end with exp(lse of the step - lse); where only the late half of a rank's queries met a block, the lse of the rank's first rows is taken instead of that of its late rows.
import numpy as np

from case import dealt, gather, halves, ring_shift, scatter

CASE = dict(ranks=4, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=45, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="bfloat16", backward=True)


def wide(x):
    return np.repeat(x, CASE["heads"] // CASE["kv_heads"], axis=1)


def narrow(x):
    return x.reshape(x.shape[0], CASE["kv_heads"], -1, *x.shape[2:]).sum(axis=2)


def scores(q, k, causal):
    s = np.einsum("bhqd,bhkd->bhqk", q, wide(k)) / np.sqrt(CASE["head_dim"])
    return np.where(np.tril(np.ones(s.shape[2:], bool)), s, -np.inf) if causal else s


def branch(step, rank, early):
    """Rows of the queries, rows of the block, and whether the causal mask is needed."""
    n = CASE["ranks"]
    if step == 0:
        return slice(None), slice(None), True
    if step <= rank:
        return slice(None), slice(0, early[(rank - step) % n]), False
    return slice(early[rank], None), slice(None), False


def run(q, k, v, dout):
    n, rows, early = CASE["ranks"], dealt(CASE), halves(CASE)
    qs, ks, vs, gs = (scatter(x, rows) for x in (q, k, v, dout))
    out_per_step = [[None] * n for _ in range(n)]
    lse_per_step = [[None] * n for _ in range(n)]
    kb, vb = ks, vs
    for step in range(n):
        for rank in range(n):
            mine, theirs, causal = branch(step, rank, early)
            s = scores(qs[rank][:, :, mine], kb[rank][:, :, theirs], causal)
            m = s.max(-1, keepdims=True)
            z = np.exp(s - m).sum(-1, keepdims=True)
            lse_per_step[rank][step] = m + np.log(z)
            out_per_step[rank][step] = np.exp(s - m) / z @ wide(vb[rank][:, :, theirs])
        kb, vb = ring_shift(kb), ring_shift(vb)
    lse, out = [], []
    for rank in range(n):
        total = lse_per_step[rank][0].copy()
        for step in range(1, n):
            mine = branch(step, rank, early)[0]
            total[:, :, mine] = np.logaddexp(total[:, :, mine], lse_per_step[rank][step])
        lse.append(total)
        corrected = np.zeros_like(qs[rank])
        for step in range(n):
            mine = branch(step, rank, early)[0]
            part = lse_per_step[rank][step]
            reference = total[:, :, :part.shape[2]]
            corrected[:, :, mine] += out_per_step[rank][step] * np.exp(part - reference)
        out.append(corrected)
    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    delta = [(a * b).sum(-1, keepdims=True) for a, b in zip(out, gs)]
    kb, vb = ks, vs
    for step in range(n):
        for rank in range(n):
            mine, theirs, causal = branch(step, rank, early)
            k_, v_, g_ = kb[rank][:, :, theirs], vb[rank][:, :, theirs], gs[rank][:, :, mine]
            p = np.exp(scores(qs[rank][:, :, mine], k_, causal) - lse[rank][:, :, mine])
            ds = p * (g_ @ wide(v_).swapaxes(2, 3) - delta[rank][:, :, mine]) / np.sqrt(CASE["head_dim"])
            dq[rank][:, :, mine] += ds @ wide(k_)
            dk[rank][:, :, theirs] += narrow(ds.swapaxes(2, 3) @ qs[rank][:, :, mine])
            dv[rank][:, :, theirs] += narrow(p.swapaxes(2, 3) @ g_)
        kb, vb, dk, dv = (ring_shift(x) for x in (kb, vb, dk, dv))
    return dict(out=gather(out, rows), lse=gather(lse, rows), dq=gather(dq, rows), dk=gather(dk, rows), dv=gather(dv, rows))
