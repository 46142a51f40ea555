# Mistake: striped layout with a window; the distance of two tokens is taken as (row of q - row of k) * ranks, without
# the difference of the two ranks, for the window only (the causal test is right).
import numpy as np

CASE = dict(ranks=4, layout="striped", causal=True, window=10, cu_seqlens=None, seqlen=46, heads=2, kv_heads=1,
            head_dim=8, batch=1, dtype="float64", backward=True)


def mask(r, src, nq, nk):
    i, j = np.ogrid[:nq, :nk]
    later = j > i if src <= r else j >= i
    apart = (i - j) * CASE["ranks"]
    return ~later & (apart <= CASE["window"])


def run(q, k, v, dout):
    n, scale, group = CASE["ranks"], CASE["head_dim"] ** -0.5, CASE["heads"] // CASE["kv_heads"]
    stripe = lambda x: [x[:, :, r::n] for r in range(n)]
    Q, K, V, DO = map(stripe, (q, k, v, dout))
    wide = lambda x: np.repeat(x, group, 1)

    def scores(r, src):
        s = np.einsum("bhid,bhjd->bhij", Q[r], wide(K[src])) * scale
        return np.where(mask(r, src, s.shape[2], s.shape[3]), s, -np.inf)

    # forward: each rank keeps only the log of the sum; the values are added in a second turn of the ring
    lse = []
    for r in range(n):
        total = 0
        for t in range(n):
            total = total + np.exp(scores(r, (r - t) % n)).sum(-1, keepdims=True)
        lse.append(np.log(total))
    out = [sum(np.exp(scores(r, (r - t) % n) - lse[r]) @ wide(V[(r - t) % n]) for t in range(n)) for r in range(n)]
    dq = [np.zeros(x.shape) for x in Q]
    dk, dv = [np.zeros(x.shape) for x in K], [np.zeros(x.shape) for x in V]
    for r in range(n):
        delta = np.sum(out[r] * DO[r], -1, keepdims=True)
        for t in range(n):
            src = (r - t) % n
            p = np.exp(scores(r, src) - lse[r])
            ds = p * (DO[r] @ wide(V[src]).swapaxes(2, 3) - delta) * scale
            dq[r] += ds @ wide(K[src])
            for h in range(CASE["heads"]):
                dk[src][:, h // group] += np.swapaxes(ds[:, h], 1, 2) @ Q[r][:, h]
                dv[src][:, h // group] += np.swapaxes(p[:, h], 1, 2) @ DO[r][:, h]

    def whole(parts):
        x = np.zeros(parts[0].shape[:2] + (CASE["seqlen"],) + parts[0].shape[3:])
        for r in range(n):
            x[:, :, r::n] = parts[r]
        return x
    return {key: whole(x) for key, x in dict(out=out, lse=lse, dq=dq, dk=dk, dv=dv).items()}
