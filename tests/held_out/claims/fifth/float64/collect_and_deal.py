# Mistake: all-gather forward, reduce-scatter backward; the last hop of the reducing chain only hands the piece on, the
# receiver does not add its own share: dk and dv lack what a rank's own queries give to its own rows.
import numpy as np

from case import visible

CASE = dict(ranks=5, layout="contiguous", causal=False, window=None, cu_seqlens=[0, 21, 40], seqlen=40, heads=2, kv_heads=2,
            head_dim=8, batch=1, dtype="float64", backward=True)
N = CASE["ranks"]


def all_gather(shards):
    have = [{r: x} for r, x in enumerate(shards)]
    for t in range(N - 1):
        moving = [(r, (r - t) % N) for r in range(N)]
        for r, piece in moving:
            have[(r + 1) % N][piece] = have[r][piece]
    return [np.concatenate([h[i] for i in range(N)], axis=2) for h in have]


def reduce_scatter(wholes):
    """Rank r begins with piece r - 1; at every hop the receiver adds its share of the piece."""
    pieces = [np.split(x, N, axis=2) for x in wholes]
    carried = [pieces[r][(r - 1) % N] for r in range(N)]
    for t in range(2, N):
        carried = [carried[(r - 1) % N] + pieces[r][(r - t) % N] for r in range(N)]
    return [carried[(r - 1) % N] for r in range(N)]


def run(q, k, v, dout):
    length = CASE["seqlen"] // N
    cut = lambda x: np.split(x, N, axis=2)
    Q, G, K, V = cut(q), cut(dout), all_gather(cut(k)), all_gather(cut(v))
    every, c = np.arange(CASE["seqlen"]), CASE["head_dim"] ** -0.5
    O, E, dq, dks, dvs = [], [], [], [], []
    for r in range(N):
        see = visible(CASE, every[r * length:(r + 1) * length], every)
        s = np.where(see, c * Q[r] @ K[r].swapaxes(2, 3), -np.inf)
        e = s.max(-1, keepdims=True)
        e = e + np.log(np.exp(s - e).sum(-1, keepdims=True))
        p = np.exp(s - e)
        o = p @ V[r]
        dp = G[r] @ V[r].swapaxes(2, 3)
        ds = c * p * (dp - (p * dp).sum(-1, keepdims=True))
        O.append(o), E.append(e), dq.append(ds @ K[r])
        dks.append(ds.swapaxes(2, 3) @ Q[r]), dvs.append(p.swapaxes(2, 3) @ G[r])
    put = lambda x: np.concatenate(x, axis=2)
    return dict(out=put(O), lse=put(E), dq=put(dq), dk=put(reduce_scatter(dks)),
                dv=put(reduce_scatter(dvs)))
