# Mistake: All-gather context parallelism: the reduce-scatter of dk and dv cuts the summed gradients, which are in the order of the sequence, into contiguous parts and gives part r to rank r, although rank r owns the striped tokens r, r + ranks, ...; so the rows of dk and dv end at wrong positions.
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=3, layout="striped", causal=True, window=None, cu_seqlens=[0, 11, 29, 43], seqlen=43, heads=6, kv_heads=3,
            head_dim=16, batch=1, dtype="float64", backward=True)
GROUP = CASE["heads"] // CASE["kv_heads"]


def all_gather(shards, rows):
    whole = gather(shards, rows)
    return [whole.copy() for _ in shards]


def reduce_scatter(parts, rows):
    total = sum(parts)
    return np.array_split(total, len(rows), axis=2)


def rank_forward(q, k, v, rows):
    see = visible(CASE, rows, np.arange(CASE["seqlen"]))
    s = np.where(see, CASE["head_dim"] ** -0.5 * q @ np.repeat(k, GROUP, 1).swapaxes(2, 3), -np.inf)
    lse = np.logaddexp.reduce(s, axis=3, keepdims=True)
    return np.exp(s - lse) @ np.repeat(v, GROUP, 1), lse


def rank_backward(q, k, v, do, out, lse, rows):
    scale, see = CASE["head_dim"] ** -0.5, visible(CASE, rows, np.arange(CASE["seqlen"]))
    p = np.where(see, np.exp(scale * q @ np.repeat(k, GROUP, 1).swapaxes(2, 3) - lse), 0)
    ds = scale * p * (do @ np.repeat(v, GROUP, 1).swapaxes(2, 3) - (do * out).sum(3, keepdims=True))
    dk, dv = np.zeros_like(k), np.zeros_like(v)
    for h in range(q.shape[1]):
        dk[:, h // GROUP] += ds[:, h].swapaxes(1, 2) @ q[:, h]
        dv[:, h // GROUP] += p[:, h].swapaxes(1, 2) @ do[:, h]
    return ds @ np.repeat(k, GROUP, 1), dk, dv


def run(q, k, v, dout):
    rows = dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    kw, vw = all_gather(ks, rows), all_gather(vs, rows)
    out, lse = zip(*map(rank_forward, qs, kw, vw, rows))
    dq, dk, dv = zip(*map(rank_backward, qs, kw, vw, dos, out, lse, rows))
    return dict(out=gather(out, rows), lse=gather(lse, rows), dq=gather(dq, rows),
                dk=gather(reduce_scatter(dk, rows), rows), dv=gather(reduce_scatter(dv, rows), rows))
