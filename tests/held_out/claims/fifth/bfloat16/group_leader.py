# Mistake: Ulysses with grouped heads; delta = rowsum(dout * out) is kept once for each KV head, from the first query head
# of its group, and used for all query heads of the group.
import numpy as np

from case import visible

CASE = dict(ranks=3, layout="contiguous", causal=True, window=20, cu_seqlens=None, seqlen=45, heads=6, kv_heads=3,
            head_dim=8, batch=1, dtype="bfloat16", backward=True)
N = CASE["ranks"]


def to_heads(shards):
    """Shards of the sequence with all heads -> all of the sequence with a share of the heads."""
    cut = [np.split(x, N, axis=1) for x in shards]
    return [np.concatenate([cut[r][j] for r in range(N)], axis=2) for j in range(N)]


def to_rows(heads):
    cut = [np.split(x, N, axis=2) for x in heads]
    return [np.concatenate([cut[j][r] for j in range(N)], axis=1) for r in range(N)]


def leader(h, group):
    return h // group


def attention(q, k, v, g):
    c, at = CASE["head_dim"] ** -0.5, np.arange(CASE["seqlen"])
    group = q.shape[1] // k.shape[1]
    see = visible(CASE, at, at)
    out, dq = np.zeros(q.shape), np.zeros(q.shape)
    dk, dv = np.zeros(k.shape), np.zeros(v.shape)
    lse, delta = np.zeros(q.shape[:3] + (1,)), {}
    for h in range(q.shape[1]):
        s = np.where(see, c * q[:, h] @ k[:, h // group].swapaxes(1, 2), -np.inf)
        e = np.log(np.exp(s).sum(2, keepdims=True))
        out[:, h], lse[:, h] = np.exp(s - e) @ v[:, h // group], e
        d = (g[:, h] * out[:, h]).sum(2, keepdims=True)
        delta.setdefault(leader(h, group), d)
    for h in range(q.shape[1]):
        j = h // group
        p = np.exp(c * q[:, h] @ k[:, j].swapaxes(1, 2) - lse[:, h]) * see
        ds = c * p * (g[:, h] @ v[:, j].swapaxes(1, 2) - delta[leader(h, group)])
        dq[:, h] = ds @ k[:, j]
        dk[:, j] += ds.swapaxes(1, 2) @ q[:, h]
        dv[:, j] += p.swapaxes(1, 2) @ g[:, h]
    return out, lse, dq, dk, dv


def run(q, k, v, dout):
    shards = [to_heads(np.split(x, N, axis=2)) for x in (q, k, v, dout)]
    results = zip(*(attention(*x) for x in zip(*shards)))
    return {name: np.concatenate(to_rows(x), axis=2) for name, x in zip(("out", "lse", "dq", "dk", "dv"), results)}
