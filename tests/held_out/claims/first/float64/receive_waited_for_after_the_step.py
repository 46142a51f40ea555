# Mistake: the forward ring waits for an arriving block only after computing the step, so from step 1 on the keys and values are those of one step before, under the mask of the block that was due.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="contiguous", causal=True, window=None, cu_seqlens=None, seqlen=32, heads=6, kv_heads=3,
            head_dim=4, batch=1, dtype="float64", backward=True)


def attend(q, k, v, see, scale):
    """One head of one block: out and lse, rows without a key have lse -inf."""
    s = np.where(see, scale * q @ k.T, -np.inf)
    top = s.max(1, keepdims=True)
    top[np.isinf(top)] = 0
    p = np.exp(s - top)
    total = p.sum(1, keepdims=True)
    with np.errstate(divide="ignore"):
        return p @ v / np.where(total > 0, total, 1), top + np.log(total)


def join(a, b):
    lse = np.logaddexp(a[1], b[1])
    return a[0] * np.exp(a[1] - lse) + b[0] * np.exp(b[1] - lse), lse


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    group = CASE["heads"] // CASE["kv_heads"]
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    pairs = [(b, h) for b in range(CASE["batch"]) for h in range(CASE["heads"])]
    outs = [np.zeros_like(x) for x in qs]
    lses = [np.zeros(x.shape[:3] + (1,)) for x in qs]

    held = list(zip(ks, vs))
    for t in range(n):
        inbox = ring_shift(held)
        for r in range(n):
            source = (r - t) % n
            if source > r:
                continue
            see = visible(CASE, rows[r], rows[source])
            for b, h in pairs:
                part = attend(qs[r][b, h], held[r][0][b, h // group], held[r][1][b, h // group], see, scale)
                if t:
                    part = join((outs[r][b, h], lses[r][b, h]), part)
                outs[r][b, h], lses[r][b, h] = part
        if t:
            held = inbox

    dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (qs, ks, vs))
    for t in range(n):
        for r in range(n):
            j = (r - t) % n
            see = visible(CASE, rows[r], rows[j])
            for b, h in pairs:
                c = h // group
                p = np.where(see, np.exp(scale * qs[r][b, h] @ ks[j][b, c].T - lses[r][b, h]), 0)
                delta = (outs[r][b, h] * dos[r][b, h]).sum(1, keepdims=True)
                ds = p * (dos[r][b, h] @ vs[j][b, c].T - delta) * scale
                dq[r][b, h] += ds @ ks[j][b, c]
                dk[j][b, c] += ds.T @ qs[r][b, h]
                dv[j][b, c] += p.T @ dos[r][b, h]
    return {name: gather(x, rows) for name, x in dict(out=outs, lse=lses, dq=dq, dk=dk, dv=dv).items()}
