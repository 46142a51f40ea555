# Mistake: After the all-to-all of Ulysses the causal window is applied to the rows' indices in the concatenation of the ranks' parts, instead of to the tokens' positions in the sequence, which the layout has dealt in another order (forward and backward).
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=4, layout="zigzag-token", causal=True, window=10, cu_seqlens=None, seqlen=39, heads=4, kv_heads=4,
            head_dim=8, batch=1, dtype="float32", backward=True)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    per = CASE["heads"] // n
    cuts = np.cumsum([len(p) for p in rows])[:-1]

    def seq_to_heads(parts):
        return [np.concatenate([x[:, r * per:(r + 1) * per] for x in parts], axis=2) for r in range(n)]

    def heads_to_seq(parts):
        split = [np.split(x, cuts, axis=2) for x in parts]
        return [np.concatenate([split[h][r] for h in range(n)], axis=1) for r in range(n)]

    Q, K, V, DO = (seq_to_heads(scatter(x, rows)) for x in (q, k, v, dout))
    index = np.arange(CASE["seqlen"])
    see = visible(CASE, index, index)
    found = [[] for _ in range(5)]
    for r in range(n):
        s = np.where(see, scale * Q[r] @ K[r].swapaxes(2, 3), np.float32(-np.inf))
        top = s.max(3, keepdims=True)
        e = np.exp(s - top)
        l = e.sum(3, keepdims=True)
        p = e / l
        out = p @ V[r]
        ds = scale * p * (DO[r] @ V[r].swapaxes(2, 3) - (out * DO[r]).sum(3, keepdims=True))
        for to, x in zip(found, (out, top + np.log(l), ds @ K[r], ds.swapaxes(2, 3) @ Q[r], p.swapaxes(2, 3) @ DO[r])):
            to.append(x)
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(heads_to_seq(x), rows) for x in found)))
