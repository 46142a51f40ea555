# Mistake: In the backward pass q, dout, lse and dq travel round the ring while k and v stay; delta does not travel with them, so at step t the queries of rank r - t are used with the delta of rank r's own queries, which makes dq and dk wrong (dv is right).
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=56, heads=6, kv_heads=3,
            head_dim=8, batch=1, dtype="bfloat16", backward=True)
GROUP, SCALE = CASE["heads"] // CASE["kv_heads"], CASE["head_dim"] ** -0.5


def masked(q, k, see):
    return np.where(see, SCALE * np.matmul(q, np.repeat(k, GROUP, 1).swapaxes(2, 3)), -np.inf)


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    # forward: the queries and their states travel, too
    travelling = [dict(owner=r, q=qs[r], out=np.zeros_like(qs[r]), lse=np.full(qs[r].shape[:3] + (1,), -np.inf)) for r in range(n)]
    for t in range(n):
        for r, x in enumerate(travelling):
            s = masked(x["q"], ks[r], visible(CASE, rows[x["owner"]], rows[r]))
            new = np.logaddexp(x["lse"], np.logaddexp.reduce(s, axis=3, keepdims=True))
            base = np.where(np.isinf(new), 0, new)
            x["out"] = x["out"] * np.exp(x["lse"] - base) + np.exp(s - base) @ np.repeat(vs[r], GROUP, 1)
            x["lse"] = new
        travelling = ring_shift(travelling)
    outs, lses = [x["out"] for x in travelling], [x["lse"] for x in travelling]

    delta = [(a * b).sum(3, keepdims=True) for a, b in zip(outs, dos)]
    dk, dv = [np.zeros_like(x) for x in ks], [np.zeros_like(x) for x in vs]
    q_, do_, lse_, dq_ = qs, dos, lses, [np.zeros_like(x) for x in qs]
    for t in range(n):
        for r in range(n):
            p = np.exp(masked(q_[r], ks[r], visible(CASE, rows[(r - t) % n], rows[r])) - lse_[r])
            ds = SCALE * p * (do_[r] @ np.repeat(vs[r], GROUP, 1).swapaxes(2, 3) - delta[r])
            dq_[r] += ds @ np.repeat(ks[r], GROUP, 1)
            for j in range(GROUP):
                dk[r] += (ds.swapaxes(2, 3) @ q_[r])[:, j::GROUP]
                dv[r] += (p.swapaxes(2, 3) @ do_[r])[:, j::GROUP]
        q_, do_, lse_, dq_ = (ring_shift(x) for x in (q_, do_, lse_, dq_))
    return dict(out=gather(outs, rows), lse=gather(lses, rows), dq=gather(dq_, rows), dk=gather(dk, rows),
                dv=gather(dv, rows))
