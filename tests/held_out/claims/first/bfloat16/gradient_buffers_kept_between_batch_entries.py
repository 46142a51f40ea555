# Mistake: the buffers that add up dk and dv are not set to zero between batch entries, so every batch entry's dk and dv also contain those of the entries before it.
import numpy as np

from case import dealt, visible

CASE = dict(ranks=4, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=44, heads=4, kv_heads=2,
            head_dim=8, batch=3, dtype="bfloat16", backward=True)
N, G = CASE["ranks"], CASE["heads"] // CASE["kv_heads"]
SCALE = CASE["head_dim"] ** -0.5


def forward_one(q, k, v, rows):
    out, lse = np.zeros_like(q), np.zeros(q.shape[:2] + (1,))
    for r in range(N):
        for h in range(CASE["heads"]):
            m, l, acc = -np.inf, 0.0, 0.0
            for t in range(N):
                j = rows[(r - t) % N]
                s = np.where(visible(CASE, rows[r], j), SCALE * q[h, rows[r]] @ k[h // G, j].T, -np.inf)
                new = np.maximum(m, s.max(1, keepdims=True))
                acc = acc * np.exp(m - new) + np.exp(s - new) @ v[h // G, j]
                l = l * np.exp(m - new) + np.exp(s - new).sum(1, keepdims=True)
                m = new
            out[h, rows[r]], lse[h, rows[r]] = acc / l, m + np.log(l)
    return out, lse


def backward_one(q, k, v, dout, out, lse, rows, sums):
    dq = np.zeros_like(q)
    delta = (out * dout).sum(2, keepdims=True)
    for t in range(N):
        for r in range(N):
            i, j = rows[r], rows[(r - t) % N]
            see = visible(CASE, i, j)
            for h in range(CASE["heads"]):
                p = np.where(see, np.exp(SCALE * q[h, i] @ k[h // G, j].T - lse[h, i]), 0)
                ds = SCALE * p * (dout[h, i] @ v[h // G, j].T - delta[h, i])
                dq[h, i] += ds @ k[h // G, j]
                sums[r]["k"][h // G] += ds.T @ q[h, i]
                sums[r]["v"][h // G] += p.T @ dout[h, i]
        sums.insert(0, sums.pop())
    return dq


def run(q, k, v, dout):
    rows = dealt(CASE)
    made = dict(out=np.zeros_like(q), lse=np.zeros(q.shape[:3] + (1,)), dq=np.zeros_like(q), dk=np.zeros_like(k), dv=np.zeros_like(v))
    sums = [{x: np.zeros((CASE["kv_heads"], len(p), CASE["head_dim"])) for x in "kv"} for p in rows]
    for b in range(CASE["batch"]):
        made["out"][b], made["lse"][b] = forward_one(q[b], k[b], v[b], rows)
        made["dq"][b] = backward_one(q[b], k[b], v[b], dout[b], made["out"][b], made["lse"][b], rows, sums)
        for r, p in enumerate(rows):
            made["dk"][b][:, p], made["dv"][b][:, p] = sums[r]["k"], sums[r]["v"]
    return made
