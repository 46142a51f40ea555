# Mistakes: the first sequence's blocks go round clockwise and the second's counter-clockwise, to use both links; the
# mask of the second one is looked up for the block that a clockwise ring would hold.
# And dq is not multiplied by the scale (dk is).
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=3, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=36, heads=2, kv_heads=1,
            head_dim=8, batch=2, dtype="float32", backward=True)


def schedule(n, step, b):
    """Which block each rank has, by the direction of the sequence's lane."""
    sign = -1 if b % 2 == 0 else 1
    return [(r + sign * step) % n for r in range(n)]


def run(q, k, v, dout):
    n, rows, c = CASE["ranks"], dealt(CASE), np.float32(CASE["head_dim"] ** -0.5)
    masks = {(r, s): visible(CASE, rows[r], rows[s]) for r in range(n) for s in range(n)}
    results = {x: [] for x in ("out", "lse", "dq", "dk", "dv")}
    for b in range(CASE["batch"]):
        Q, K, V, G = (scatter(x[b:b + 1], rows) for x in (q, k, v, dout))

        def visits():
            for step in range(n):
                for r, src in enumerate(schedule(n, step, b)):
                    see = masks[r, (r - step) % n]
                    s = np.where(see, c * np.einsum("bhid,bojd->bhij", Q[r], K[src]), np.float32(-np.inf))
                    yield r, src, s

        l = [np.zeros(x.shape[:3] + (1,), np.float32) for x in Q]
        o = [np.zeros_like(x) for x in Q]
        for r, src, s in visits():
            e = np.exp(s)
            l[r] += e.sum(-1, keepdims=True)
            o[r] += e @ V[src]
        o, e = [x / y for x, y in zip(o, l)], [np.log(y) for y in l]
        dq, dk, dv = ([np.zeros_like(x) for x in y] for y in (Q, K, V))
        for r, src, s in visits():
            p = np.exp(s - e[r])
            ds = p * (np.einsum("bhid,bojd->bhij", G[r], V[src]) - (o[r] * G[r]).sum(-1, keepdims=True))
            dq[r] += ds @ K[src]
            dk[src] += c * np.einsum("bhij,bhid->bjd", ds, Q[r])[:, None]
            dv[src] += np.einsum("bhij,bhid->bjd", p, G[r])[:, None]
        for name, x in dict(out=o, lse=e, dq=dq, dk=dk, dv=dv).items():
            results[name].append(gather(x, rows))
    return {name: np.concatenate(x) for name, x in results.items()}
