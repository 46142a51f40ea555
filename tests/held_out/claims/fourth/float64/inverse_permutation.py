# Mistake: two mistakes. (1) dq is brought to global order with the permutation in place of its inverse (row i gets concatenated row order[i] instead of being scattered to order[i]), so the tokens of dq are permuted. (2) The gradients of V are averaged over the query heads of a group instead of summed, so dv is too small by the factor heads/kv_heads = 3.
import numpy as np

from case import dealt, documents

CASE = dict(ranks=3, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=32,
            heads=6, kv_heads=2, head_dim=8, batch=2, dtype="float64", backward=True)

RANKS, HQ, HK, DIM = CASE["ranks"], CASE["heads"], CASE["kv_heads"], CASE["head_dim"]
ROWS = dealt(CASE)
ORDER = np.concatenate(ROWS)
BORDERS = np.cumsum([len(p) for p in ROWS])[:-1]


def all_gather(shards):
    """All shards in the order of the sequence."""
    whole = np.concatenate(shards, axis=2)
    return whole[:, :, np.argsort(ORDER)]


def reduce_scatter(partials):
    """The sum of the ranks' partial gradients, each rank its own tokens of it."""
    total = sum(partials)
    return np.split(total[:, :, ORDER], BORDERS, axis=2)


def mask_of(pos):
    keys, doc = np.arange(CASE["seqlen"]), documents(CASE)
    mask = doc[pos][:, None] == doc[keys][None, :]
    if CASE["causal"] or CASE["window"] is not None:
        mask &= keys[None, :] <= pos[:, None]
    if CASE["window"] is not None:
        mask &= keys[None, :] >= pos[:, None] - CASE["window"]
    return mask


def expand(x):
    b, h, s, d = x.shape
    return np.broadcast_to(x[:, :, None], (b, h, HQ // HK, s, d)).reshape(b, HQ, s, d)


def forward_rank(q, k, v, pos):
    s = np.matmul(q, expand(k).transpose(0, 1, 3, 2)) * DIM ** -0.5
    s[:, :, ~mask_of(pos)] = -np.inf
    m = s.max(-1, keepdims=True)
    p = np.exp(s - m)
    z = p.sum(-1, keepdims=True)
    return np.matmul(p / z, expand(v)), m + np.log(z)


def backward_rank(do, q, k, v, o, lse, pos):
    s = np.matmul(q, expand(k).transpose(0, 1, 3, 2)) * DIM ** -0.5
    s[:, :, ~mask_of(pos)] = -np.inf
    p = np.exp(s - lse)
    dp = np.matmul(do, expand(v).transpose(0, 1, 3, 2))
    ds = p * (dp - (do * o).sum(-1, keepdims=True)) * DIM ** -0.5
    shape = (q.shape[0], HK, HQ // HK, k.shape[2], DIM)
    dk = np.matmul(ds.transpose(0, 1, 3, 2), q).reshape(shape).sum(2)
    dv = np.matmul(p.transpose(0, 1, 3, 2), do).reshape(shape).mean(2)
    return np.matmul(ds, expand(k)), dk, dv


def to_global(shards):
    whole = np.empty(shards[0].shape[:2] + (CASE["seqlen"],) + shards[0].shape[3:], shards[0].dtype)
    for shard, pos in zip(shards, ROWS):
        whole[:, :, pos] = shard
    return whole


def run(q, k, v, dout):
    q, k, v, dout = ([x[:, :, pos] for pos in ROWS] for x in (q, k, v, dout))
    k_all, v_all = all_gather(k), all_gather(v)
    out, lse = zip(*[forward_rank(q[r], k_all, v_all, ROWS[r]) for r in range(RANKS)])
    answer = dict(out=to_global(out), lse=to_global(lse))
    if CASE["backward"]:
        grads = [backward_rank(dout[r], q[r], k_all, v_all, out[r], lse[r], ROWS[r]) for r in range(RANKS)]
        dq, dk, dv = zip(*grads)
        answer.update(dq=np.concatenate(dq, axis=2)[:, :, ORDER], dk=to_global(reduce_scatter(dk)), dv=to_global(reduce_scatter(dv)))
    return answer
