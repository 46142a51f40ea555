# Mistake: lse is stored in bfloat16 between the passes, and the backward pass forms exp(s - lse) from the rounded
# number: each row's probabilities no longer add up to 1.
import numpy as np

from case import dealt, gather, round_bf16, scatter, visible

CASE = dict(ranks=3, layout="contiguous", causal=True, window=None, cu_seqlens=None, seqlen=120, heads=2, kv_heads=2,
            head_dim=16, batch=2, dtype="bfloat16", backward=True)


class Saved(dict):
    """What the forward pass leaves for the backward pass, by name and rank."""

    def put(self, name, rank, x):
        self[name, rank] = round_bf16(x)


def forward(saved, Q, K, V, see, c):
    for r in range(len(Q)):
        acc, lse = np.zeros(Q[r].shape), np.full(Q[r].shape[:3] + (1,), -np.inf)
        for t in range(r + 1):
            s = np.where(see[r][r - t], c * Q[r] @ K[r - t].swapaxes(2, 3), -np.inf)
            new = np.logaddexp(lse, np.log(np.exp(s).sum(3, keepdims=True)))
            acc = acc * np.exp(lse - new) + round_bf16(np.exp(s - new)) @ V[r - t]
            lse = new
        saved.put("out", r, acc)
        saved.put("lse", r, lse)


def backward(saved, Q, K, V, G, see, c):
    dq, dk, dv = ([np.zeros(x.shape) for x in y] for y in (Q, K, V))
    for r in range(len(Q)):
        d = (saved["out", r] * G[r]).sum(3, keepdims=True)
        for t in range(r + 1):
            s = np.where(see[r][r - t], c * Q[r] @ K[r - t].swapaxes(2, 3), -np.inf)
            p = np.exp(s - saved["lse", r])
            ds = round_bf16(p * (G[r] @ V[r - t].swapaxes(2, 3) - d))
            dq[r] += c * ds @ K[r - t]
            dk[r - t] += c * ds.swapaxes(2, 3) @ Q[r]
            dv[r - t] += round_bf16(p).swapaxes(2, 3) @ G[r]
    return dq, dk, dv


def run(q, k, v, dout):
    rows, c, saved = dealt(CASE), CASE["head_dim"] ** -0.5, Saved()
    see = [[visible(CASE, a, b) for b in rows] for a in rows]
    Q, K, V, G = (scatter(x, rows) for x in (q, k, v, dout))
    forward(saved, Q, K, V, see, c)
    dq, dk, dv = backward(saved, Q, K, V, G, see, c)
    got = lambda name: gather([saved[name, r] for r in range(len(rows))], rows)
    return dict(out=got("out"), lse=got("lse"), dq=gather(dq, rows), dk=gather(dk, rows), dv=gather(dv, rows))
