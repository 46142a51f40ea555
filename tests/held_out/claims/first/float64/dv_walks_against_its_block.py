# Mistake: the sum of dv is handed to the previous rank at every step while its block and the sum of dk go to the next, so it collects parts of other blocks.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=5, layout="zigzag-token", causal=True, window=None, cu_seqlens=None, seqlen=40, heads=4, kv_heads=2,
            head_dim=8, batch=1, dtype="float64", backward=True)
NEXT, PREVIOUS = 1, -1


def run(q, k, v, dout):
    n, rows, group = CASE["ranks"], dealt(CASE), CASE["heads"] // CASE["kv_heads"]
    shards = [dict(zip("qkvg", x)) for x in zip(*(scatter(y, rows) for y in (q, k, v, dout)))]

    def logits(me, k_block, src):
        s = np.stack([me["q"][:, h] @ k_block[:, h // group].swapaxes(1, 2) for h in range(CASE["heads"])], axis=1)
        return np.where(visible(CASE, rows[me["rank"]], rows[src]), s * CASE["head_dim"] ** -0.5, -np.inf)

    kb, vb = [x["k"] for x in shards], [x["v"] for x in shards]
    for r, me in enumerate(shards):
        me.update(rank=r, out=np.zeros_like(me["q"]), lse=np.full(me["q"].shape[:3] + (1,), -np.inf), dq=np.zeros_like(me["q"]))
    for t in range(n):
        for r, me in enumerate(shards):
            s = logits(me, kb[r], (r - t) % n)
            total = np.exp(s).sum(3, keepdims=True)
            with np.errstate(divide="ignore"):
                lse = np.logaddexp(me["lse"], np.log(total))
            for h in range(CASE["heads"]):
                fresh = np.exp(s[:, h] - lse[:, h]) @ vb[r][:, h // group]
                me["out"][:, h] = me["out"][:, h] * np.exp(me["lse"][:, h] - lse[:, h]) + fresh
            me["lse"] = lse
        kb, vb = ring_shift(kb, NEXT), ring_shift(vb, NEXT)

    dk, dv = [np.zeros_like(x) for x in kb], [np.zeros_like(x) for x in vb]
    for t in range(n):
        for r, me in enumerate(shards):
            p = np.exp(logits(me, kb[r], (r - t) % n) - me["lse"])
            delta = (me["out"] * me["g"]).sum(3, keepdims=True)
            for h in range(CASE["heads"]):
                c = h // group
                ds = p[:, h] * (me["g"][:, h] @ vb[r][:, c].swapaxes(1, 2) - delta[:, h]) * CASE["head_dim"] ** -0.5
                me["dq"][:, h] += ds @ kb[r][:, c]
                dk[r][:, c] += ds.swapaxes(1, 2) @ me["q"][:, h]
                dv[r][:, c] += p[:, h].swapaxes(1, 2) @ me["g"][:, h]
        kb, vb = ring_shift(kb, NEXT), ring_shift(vb, NEXT)
        dk, dv = ring_shift(dk, NEXT), ring_shift(dv, PREVIOUS)
    pick = lambda x: gather([me[x] for me in shards], rows)
    return dict(out=pick("out"), lse=pick("lse"), dq=pick("dq"), dk=gather(dk, rows), dv=gather(dv, rows))
