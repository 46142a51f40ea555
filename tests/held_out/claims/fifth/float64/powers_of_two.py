# Mistake: scores are kept in base 2, q is multiplied by scale * log2(e) once at the start, and dk is formed with this q:
# dk is too large by the factor log2(e).
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=5, layout="zigzag-token", causal=True, window=None, cu_seqlens=None, seqlen=48, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float64", backward=True)
LOG2E = 1 / np.log(2)


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    g = CASE["heads"] // CASE["kv_heads"]
    # [batch, kv head, member of the group, rows, d]
    five = lambda x: x.reshape(x.shape[0], -1, g if x.shape[1] == CASE["heads"] else 1, *x.shape[2:])
    Q, K, V, G = ([five(y) for y in scatter(x, rows)] for x in (q * (scale * LOG2E), k, v, dout))
    state = [[np.zeros_like(x), np.full(x.shape[:-1] + (1,), -np.inf), np.zeros(x.shape[:-1] + (1,))] for x in Q]
    kv = list(zip(K, V, range(n)))
    for _ in range(n):
        for r, (kb, vb, whose) in enumerate(kv):
            s = np.where(visible(CASE, rows[r], rows[whose]), Q[r] @ kb.swapaxes(-1, -2), -np.inf)
            o, m, l = state[r]
            top = np.maximum(m, s.max(-1, keepdims=True))
            zero = np.where(np.isinf(top), 0, top)
            p, a = np.exp2(s - zero), np.exp2(m - zero)
            state[r] = [o * a + p @ vb, top, l * a + p.sum(-1, keepdims=True)]
        kv = ring_shift(kv)
    out = [o / l for o, m, l in state]
    lse2 = [m + np.log2(l) for o, m, l in state]
    D = [(o * d).sum(-1, keepdims=True) for o, d in zip(out, G)]
    dq = [np.zeros_like(x) for x in Q]
    bag = [(kb, vb, whose, np.zeros_like(kb), np.zeros_like(vb)) for kb, vb, whose in kv]
    for _ in range(n):
        for r, (kb, vb, whose, dk, dv) in enumerate(bag):
            s = np.where(visible(CASE, rows[r], rows[whose]), Q[r] @ kb.swapaxes(-1, -2), -np.inf)
            p = np.exp2(s - lse2[r])
            ds = p * (G[r] @ vb.swapaxes(-1, -2) - D[r])
            dq[r] += ds @ kb * scale
            dk += (ds.swapaxes(-1, -2) @ Q[r]).sum(2, keepdims=True)
            dv += (p.swapaxes(-1, -2) @ G[r]).sum(2, keepdims=True)
        bag = ring_shift(bag)
    flat = lambda xs: gather([x.reshape(x.shape[0], -1, *x.shape[3:]) for x in xs], rows)
    return dict(out=flat(out), lse=flat([x / LOG2E for x in lse2]), dq=flat(dq), dk=flat([b[3] for b in bag]),
                dv=flat([b[4] for b in bag]))
