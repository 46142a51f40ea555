# Mistake: token zig-zag; the positions of arriving keys are worked out from the rank with the parity of the rounds turned
# round (the seat is mirrored in even rounds and not in odd ones), those of the queries rightly.
import numpy as np

from case import ring_shift

CASE = dict(ranks=3, layout="zigzag-token", causal=True, window=None, cu_seqlens=None, seqlen=42, heads=4, kv_heads=2,
            head_dim=8, batch=2, dtype="bfloat16", backward=False)


def tokens(rank, count, mirrored):
    turn = np.arange(count)
    return turn * CASE["ranks"] + np.where(turn % 2 == mirrored, CASE["ranks"] - 1 - rank, rank)


def run(q, k, v, dout):
    n = CASE["ranks"]
    count = CASE["seqlen"] // n
    mine = [tokens(r, count, 1) for r in range(n)]
    group = CASE["heads"] // CASE["kv_heads"]
    out, lse = np.zeros(q.shape), np.zeros(q.shape[:3] + (1,))
    for b in range(CASE["batch"]):
        for h in range(CASE["heads"]):
            blocks = [(k[b, h // group, p], v[b, h // group, p], r) for r, p in enumerate(mine)]
            num, den = [0] * n, [0] * n
            for _ in range(n):
                for r, (kk, vv, src) in enumerate(blocks):
                    kpos = tokens(src, count, 0)
                    w = np.exp(q[b, h, mine[r]] @ kk.T / CASE["head_dim"] ** 0.5)
                    w[kpos[None, :] > mine[r][:, None]] = 0
                    num[r], den[r] = num[r] + w @ vv, den[r] + w.sum(1)
                blocks = ring_shift(blocks)
            for r in range(n):
                ok = den[r] > 0
                out[b, h, mine[r][ok]] = num[r][ok] / den[r][ok][:, None]
                with np.errstate(divide="ignore"):
                    lse[b, h, mine[r], 0] = np.log(den[r])
    return dict(out=out, lse=lse)
