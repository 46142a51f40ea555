# Mistake: q is multiplied by the scale before it is kept, ds is multiplied by the scale as well, and dk is formed from
# both: dk has the scale twice (dq has it once).
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=4, layout="striped", causal=True, window=None, cu_seqlens=[0, 25, 26, 49], seqlen=49, heads=2, kv_heads=2,
            head_dim=16, batch=1, dtype="bfloat16", backward=True)


def make_rank(me, rows, qs, ks, vs, gs):
    scale = CASE["head_dim"] ** -0.5
    q = qs[me] * scale
    masks = [visible(CASE, rows[me], p) for p in rows]
    saved = {}

    def logits(src):
        return np.where(masks[src], np.einsum("bhid,bhjd->bhij", q, ks[src]), -np.inf)

    def forward(order):
        s = np.concatenate([logits(src) for src in order], axis=3)
        v = np.concatenate([vs[src] for src in order], axis=2)
        m = s.max(3, keepdims=True)
        p = np.exp(s - m)
        l = p.sum(3, keepdims=True)
        saved.update(out=p @ v / l, lse=m + np.log(l))
        return saved["out"], saved["lse"]

    def backward(src):
        delta = (saved["out"] * gs[me]).sum(3, keepdims=True)
        p = np.exp(logits(src) - saved["lse"])
        ds = scale * p * (np.einsum("bhid,bhjd->bhij", gs[me], vs[src]) - delta)
        return ds @ ks[src], np.einsum("bhij,bhid->bhjd", ds, q), np.einsum("bhij,bhid->bhjd", p, gs[me])

    return forward, backward


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    tensors = [scatter(x, rows) for x in (q, k, v, dout)]
    team = [make_rank(r, rows, *tensors) for r in range(n)]
    out, lse = zip(*(forward([(r - t) % n for t in range(n)]) for r, (forward, _) in enumerate(team)))
    grads = [[np.zeros(x.shape) for x in y] for y in tensors[:3]]
    for t in range(n):
        for r, (_, backward) in enumerate(team):
            owner = (r - t) % n
            for sums, rank, x in zip(grads, (r, owner, owner), backward(owner)):
                sums[rank] += x
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (out, lse, *grads))))
