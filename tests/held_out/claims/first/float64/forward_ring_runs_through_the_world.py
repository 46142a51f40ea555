# Mistake: two rings of 3 ranks, one for each batch entry; in the forward pass the neighbour is the next of all 6 ranks instead of the next of the ring, so blocks walk on into the other ring and rank r meets at step t > r the keys and values of the other batch entry.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=3, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=35, heads=4, kv_heads=2,
            head_dim=7, batch=2, dtype="float64", backward=True)
CP, DP = CASE["ranks"], CASE["batch"]
WORLD = CP * DP
GROUPS = [list(range(d * CP, (d + 1) * CP)) for d in range(DP)]


def hop(things, groups):
    """The thing of each member of a group goes to the next member."""
    got = list(things)
    for group in groups:
        for at, rank in enumerate(group):
            got[group[(at + 1) % len(group)]] = things[rank]
    return got


def run(q, k, v, dout):
    rows = dealt(CASE)
    times = CASE["heads"] // CASE["kv_heads"]
    local = lambda x: [shard for d in range(DP) for shard in scatter(x[d:d + 1], rows)]
    home = lambda xs: np.concatenate([gather(xs[d * CP:(d + 1) * CP], rows) for d in range(DP)])
    Q, K, V, G = map(local, (q, k, v, dout))
    see = lambda w, t: visible(CASE, rows[w % CP], rows[(w % CP - t) % CP])
    rep = lambda x: np.repeat(x, times, 1)
    logit = lambda w, key, t: np.where(see(w, t), Q[w] @ rep(key).swapaxes(2, 3) / np.sqrt(CASE["head_dim"]), -np.inf)

    state = [(np.full(x.shape[:3] + (1,), -np.inf), np.zeros(x.shape[:3] + (1,)), np.zeros_like(x)) for x in Q]
    kv = list(zip(K, V))
    for t in range(CP):
        for w in range(WORLD):
            m, z, acc = state[w]
            s = logit(w, kv[w][0], t)
            top = np.maximum(m, s.max(3, keepdims=True))
            base = np.where(np.isinf(top), 0, top)
            p, f = np.exp(s - base), np.exp(m - base)
            state[w] = top, z * f + p.sum(3, keepdims=True), acc * f + p @ rep(kv[w][1])
        kv = hop(kv, [list(range(WORLD))])
    out = [acc / z for _, z, acc in state]
    lse = [m + np.log(z) for m, z, _ in state]

    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (Q, K, V))
    kv = list(zip(K, V))
    for t in range(CP):
        for w in range(WORLD):
            p = np.exp(logit(w, kv[w][0], t) - lse[w])
            dp = G[w] @ rep(kv[w][1]).swapaxes(2, 3)
            ds = p * (dp - (G[w] * out[w]).sum(3, keepdims=True)) / np.sqrt(CASE["head_dim"])
            dq[w] = dq[w] + ds @ rep(kv[w][0])
            dk[w] = dk[w] + sum_group(ds.swapaxes(2, 3) @ Q[w], times)
            dv[w] = dv[w] + sum_group(p.swapaxes(2, 3) @ G[w], times)
        kv, dk, dv = hop(kv, GROUPS), hop(dk, GROUPS), hop(dv, GROUPS)
    return dict(out=home(out), lse=home(lse), dq=home(dq), dk=home(dk), dv=home(dv))


def sum_group(x, times):
    return sum(x[:, i::times] for i in range(times))
