# Mistake: in the forward pass the second batch entry begins with the blocks where the first left them, N - 1 hops on, while the mask supposes that every rank begins with its own.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=3, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=45, heads=4, kv_heads=2,
            head_dim=8, batch=2, dtype="float64", backward=True)
N, SCALE = CASE["ranks"], CASE["head_dim"] ** -0.5


def run(q, k, v, dout):
    rows, g = dealt(CASE), CASE["heads"] // CASE["kv_heads"]
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    outs, lses = [np.zeros_like(x) for x in qs], [np.zeros(x.shape[:3] + (1,)) for x in qs]
    holds = list(range(N))
    for b in range(CASE["batch"]):
        state = [[np.full(x.shape[1:3], -np.inf), np.zeros(x.shape[1:3]), np.zeros(x.shape[1:])] for x in qs]
        for t in range(N):
            for r in range(N):
                see = visible(CASE, rows[r], rows[(r - t) % N])
                kb, vb = ks[holds[r]][b].repeat(g, 0), vs[holds[r]][b].repeat(g, 0)
                s = np.where(see, np.einsum("hid,hjd->hij", qs[r][b], kb) * SCALE, -np.inf)
                m, l, acc = state[r]
                new = np.maximum(m, s.max(2))
                zero = np.where(np.isinf(new), 0, new)
                e, f = np.exp(s - zero[..., None]), np.exp(m - zero)
                state[r] = [new, l * f + e.sum(2), acc * f[..., None] + np.einsum("hij,hjd->hid", e, vb)]
            if t < N - 1:
                holds = ring_shift(holds)
        for r, (m, l, acc) in enumerate(state):
            outs[r][b], lses[r][b, ..., 0] = acc / l[..., None], m + np.log(l)

    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    for b in range(CASE["batch"]):
        for i in range(N):
            delta = (outs[i][b] * dos[i][b]).sum(2, keepdims=True)
            for j in range(N):
                see = visible(CASE, rows[i], rows[j])
                for h in range(CASE["heads"]):
                    p = np.where(see, np.exp(SCALE * qs[i][b, h] @ ks[j][b, h // g].T - lses[i][b, h]), 0)
                    ds = SCALE * p * (dos[i][b, h] @ vs[j][b, h // g].T - delta[h])
                    dq[i][b, h] += ds @ ks[j][b, h // g]
                    dk[j][b, h // g] += ds.T @ qs[i][b, h]
                    dv[j][b, h // g] += p.T @ dos[i][b, h]
    return dict(out=gather(outs, rows), lse=gather(lses, rows), dq=gather(dq, rows), dk=gather(dk, rows), dv=gather(dv, rows))
