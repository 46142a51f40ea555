# Mistake: In a 2 by 2 hybrid of Ulysses and ring, the ring step exchanges K, V, dk and dv with the Ulysses neighbour (rank r xor 1: the same half of the sequence, other heads) but masks them as the other half, instead of exchanging with rank r xor 2 (the other half, the same heads).
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=4, layout="contiguous", causal=True, window=None, cu_seqlens=None, seqlen=48, heads=4, kv_heads=4,
            head_dim=8, batch=1, dtype="float64", backward=True)


def to_heads(parts):
    """All-to-all inside the pairs (0, 1), (2, 3): half of the heads, the rows of the pair."""
    w = parts[0].shape[1] // 2
    return [np.concatenate([parts[r // 2 * 2][:, r % 2 * w:][:, :w], parts[r // 2 * 2 + 1][:, r % 2 * w:][:, :w]], 2)
            for r in range(4)]


def to_rows(parts):
    h = parts[0].shape[2] // 2
    return [np.concatenate([parts[r // 2 * 2][:, :, r % 2 * h:][:, :, :h],
                            parts[r // 2 * 2 + 1][:, :, r % 2 * h:][:, :, :h]], 1) for r in range(4)]


def ring_partner(r):
    return r ^ 1


def run(q, k, v, dout):
    rows, scale = dealt(CASE), CASE["head_dim"] ** -0.5
    Q, K, V, DO = (to_heads(scatter(x, rows)) for x in (q, k, v, dout))
    span = [np.concatenate([rows[r // 2 * 2], rows[r // 2 * 2 + 1]]) for r in range(4)]
    out, lse = [], []
    for r in range(4):
        s = np.concatenate([np.where(visible(CASE, span[r], span[r ^ x]), scale * Q[r] @ K[y].swapaxes(2, 3), -np.inf)
                            for x, y in ((0, r), (2, ring_partner(r)))], 3)
        lse.append(np.logaddexp.reduce(s, axis=3, keepdims=True))
        out.append(np.exp(s - lse[r]) @ np.concatenate([V[r], V[ring_partner(r)]], 2))
    dQ, dK, dV = ([np.zeros_like(x) for x in xs] for xs in (Q, K, V))
    for r in range(4):
        delta = (out[r] * DO[r]).sum(3, keepdims=True)
        for x, y in ((0, r), (2, ring_partner(r))):
            see = visible(CASE, span[r], span[r ^ x])
            p = np.exp(np.where(see, scale * Q[r] @ K[y].swapaxes(2, 3), -np.inf) - lse[r])
            ds = scale * p * (DO[r] @ V[y].swapaxes(2, 3) - delta)
            dQ[r] += ds @ K[y]
            dK[y] += ds.swapaxes(2, 3) @ Q[r]
            dV[y] += p.swapaxes(2, 3) @ DO[r]
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(to_rows(x), rows) for x in (out, lse, dQ, dK, dV))))
