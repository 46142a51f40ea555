# Mistake: the first position of a block is counted as rank * its own length; the ranks with a row less than the
# others (the last two) are thought to begin earlier than they do, as owners of queries and of keys.
import numpy as np

CASE = dict(ranks=5, layout="contiguous", causal=True, window=8, cu_seqlens=None, seqlen=48, heads=2, kv_heads=1,
            head_dim=8, batch=1, dtype="bfloat16", backward=False)


def begin(rank, length, longest):
    extra = CASE["seqlen"] % CASE["ranks"]
    return rank * length


def flash(q, k, v, qstart, kstart):
    i, j = np.ogrid[qstart:qstart + q.shape[2], kstart:kstart + k.shape[2]]
    see = (j <= i) & (i - j <= CASE["window"])
    s = np.where(see, np.einsum("bhid,bojd->bhij", q, k) * CASE["head_dim"] ** -0.5, -np.inf)
    m = s.max(3, keepdims=True)
    z = np.where(np.isinf(m), 0, m)
    p = np.exp(s - z)
    return m, p.sum(3, keepdims=True), p @ v


def combine(states):
    m = np.maximum.reduce([s[0] for s in states])
    z = np.where(np.isinf(m), 0, m)
    l, o = (sum(np.exp(s[0] - z) * s[i] for s in states) for i in (1, 2))
    with np.errstate(divide="ignore"):
        return o / np.where(l == 0, 1, l), m + np.log(l)


def run(q, k, v, dout):
    n = CASE["ranks"]
    Q, K, V = (np.array_split(x, n, axis=2) for x in (q, k, v))
    longest = Q[0].shape[2]
    done = []
    for r in range(n):
        mine = begin(r, Q[r].shape[2], longest)
        done.append(combine([flash(Q[r], K[s], V[s], mine, begin(s, K[s].shape[2], longest))
                             for s in ((r - t) % n for t in range(n))]))
    return dict(out=np.concatenate([d[0] for d in done], 2), lse=np.concatenate([d[1] for d in done], 2))
