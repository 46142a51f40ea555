# Mistake: head_dim 10 is padded with zeros to 16 for the kernel, and the softmax scale is taken from the padded size, 16**-0.5 instead of 10**-0.5, everywhere (forward scores and backward, consistently), so all outputs are those of a smaller scale.
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=4, layout="striped", causal=True, window=None, cu_seqlens=None, seqlen=48,
            heads=8, kv_heads=4, head_dim=10, batch=1, dtype="float32", backward=True)

P = CASE["ranks"]
H, KVH = CASE["heads"], CASE["kv_heads"]
PER_RANK = H // P


def seq_to_heads(shards, heads_of):
    """All-to-all: rank r gets the heads heads_of(r) of the whole sequence, tokens in the order of the ranks."""
    return [np.concatenate([x[:, heads_of(r)] for x in shards], axis=2) for r in range(P)]


def heads_to_seq(parts, sizes):
    """All-to-all back: every rank gets all heads of its tokens."""
    cuts = np.cumsum(sizes)[:-1]
    pieces = [np.split(x, cuts, axis=2) for x in parts]
    return [np.concatenate([pieces[s][r] for s in range(P)], axis=1) for r in range(P)]


def q_heads(r):
    return list(range(r * PER_RANK, (r + 1) * PER_RANK))


def kv_heads(r):
    """For each of the rank's query heads the KV head that it reads."""
    return [h * KVH // H for h in q_heads(r)]


def pad(x):
    """Head dimension to a multiple of 8."""
    return np.pad(x, ((0, 0), (0, 0), (0, 0), (0, -x.shape[3] % 8)))


def attention(q, k, v, mask):
    scale = q.shape[-1] ** -0.5
    s = np.einsum("bhid,bhjd->bhij", q, k) * scale
    s = np.where(mask, s, -np.inf)
    m = s.max(axis=-1, keepdims=True)
    p = np.exp(s - m)
    l = p.sum(axis=-1, keepdims=True)
    return np.einsum("bhij,bhjd->bhid", p / l, v), m + np.log(l)


def attention_grad(do, q, k, v, o, lse, mask):
    scale = q.shape[-1] ** -0.5
    s = np.einsum("bhid,bhjd->bhij", q, k) * scale
    p = np.exp(np.where(mask, s, -np.inf) - lse)
    dv = np.einsum("bhij,bhid->bhjd", p, do)
    dp = np.einsum("bhid,bhjd->bhij", do, v)
    ds = p * (dp - (do * o).sum(-1, keepdims=True)) * scale
    return np.einsum("bhij,bhjd->bhid", ds, k), np.einsum("bhij,bhid->bhjd", ds, q), dv


def run(q, k, v, dout):
    rows = dealt(CASE)
    sizes = [len(p) for p in rows]
    order = np.concatenate(rows)
    mask = visible(CASE, order, order)
    qh, doh = (seq_to_heads(scatter(pad(x), rows), q_heads) for x in (q, dout))
    kh, vh = (seq_to_heads(scatter(pad(x), rows), kv_heads) for x in (k, v))
    oh, lh = zip(*[attention(qh[r], kh[r], vh[r], mask) for r in range(P)])
    out = gather(heads_to_seq(oh, sizes), rows)[..., :CASE["head_dim"]]
    lse = gather(heads_to_seq(lh, sizes), rows)
    if not CASE["backward"]:
        return {"out": out, "lse": lse}
    dqh, dkh, dvh = zip(*[attention_grad(doh[r], qh[r], kh[r], vh[r], oh[r], lh[r], mask) for r in range(P)])
    dq = gather(heads_to_seq(dqh, sizes), rows)[..., :CASE["head_dim"]]
    dk_wide, dv_wide = (gather(heads_to_seq(x, sizes), rows)[..., :CASE["head_dim"]] for x in (dkh, dvh))
    dk, dv = np.zeros_like(k), np.zeros_like(v)
    for h in range(H):
        dk[:, h * KVH // H] += dk_wide[:, h]
        dv[:, h * KVH // H] += dv_wide[:, h]
    return {"out": out, "lse": lse, "dq": dq, "dk": dk, "dv": dv}
