# Mistake: The all-to-all of Ulysses gives rank r the dout of the heads r, r + ranks, r + 2 ranks, .., which it then takes for the dout of its adjacent heads, instead of giving it the dout of these adjacent heads, as for q and out.
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=4, layout="contiguous", causal=True, window=None, cu_seqlens=[0, 20, 40], seqlen=40, heads=8,
            kv_heads=4, head_dim=8, batch=1, dtype="bfloat16", backward=True)


def scatter_heads_gather_rows(parts, n):
    return [np.concatenate([np.split(x, n, axis=1)[r] for x in parts], axis=2) for r in range(n)]


def scatter_heads_gather_rows_for_grad(parts, n):
    return [np.concatenate([x[:, r::n] for x in parts], axis=2) for r in range(n)]


def scatter_rows_gather_heads(parts, n):
    return [np.concatenate([np.split(x, n, axis=2)[r] for x in parts], axis=1) for r in range(n)]


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    q, k, v = (scatter_heads_gather_rows(scatter(x, rows), n) for x in (q, k, v))
    order = np.concatenate(rows)
    see = visible(CASE, order, order)
    out, lse, weights = [], [], []
    for r in range(n):
        s = np.where(see, scale * q[r] @ k[r].swapaxes(2, 3), -np.inf)
        lse.append(np.logaddexp.reduce(s, axis=3, keepdims=True))
        weights.append(np.exp(s - lse[r]))
        out.append(weights[r] @ v[r])
    do = scatter_heads_gather_rows_for_grad(scatter(dout, rows), n)
    dq, dk, dv = [], [], []
    for r, p in enumerate(weights):
        ds = scale * p * (do[r] @ v[r].swapaxes(2, 3) - (out[r] * do[r]).sum(3, keepdims=True))
        dq.append(ds @ k[r])
        dk.append((ds.swapaxes(2, 3) @ q[r]).sum(1, keepdims=True))
        dv.append((p.swapaxes(2, 3) @ do[r]).sum(1, keepdims=True))
    back = lambda xs: gather(scatter_rows_gather_heads(xs, n), rows)
    return dict(out=back(out), lse=back(lse), dq=back(dq), dk=back(dk), dv=back(dv))
