# Mistake: a query sees every key whose position within its own packed sequence is not above the query's, whichever sequence the key is in, instead of those of the query's sequence alone (forward and backward).
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=4, layout="striped", causal=True, window=None, cu_seqlens=[0, 13, 15, 31, 50], seqlen=50, heads=2,
            kv_heads=2, head_dim=8, batch=1, dtype="float64", backward=True)


def position_ids():
    starts = np.array(CASE["cu_seqlens"][:-1])
    token = np.arange(CASE["seqlen"])
    doc = np.searchsorted(starts, token, side="right") - 1
    return doc, token - starts[doc]


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    doc, pos = position_ids()
    tags = [(doc[p], pos[p]) for p in rows]

    def see(mine, theirs):
        ordered = mine[1][:, None] >= theirs[1][None, :]
        return ordered

    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    state = [dict(m=np.full(x.shape[:3], -np.inf), l=np.zeros(x.shape[:3]), acc=np.zeros_like(x)) for x in qs]
    packet = list(zip(ks, vs, tags))
    for _ in range(n):
        for r, st in enumerate(state):
            kb, vb, tag = packet[r]
            s = np.where(see(tags[r], tag), np.einsum("bhid,bhjd->bhij", qs[r], kb) * scale, -np.inf)
            m = np.maximum(st["m"], s.max(-1))
            ref = np.where(m == -np.inf, 0, m)
            e, f = np.exp(s - ref[..., None]), np.exp(st["m"] - ref)
            st["l"] = st["l"] * f + e.sum(-1)
            st["acc"] = st["acc"] * f[..., None] + np.einsum("bhij,bhjd->bhid", e, vb)
            st["m"] = m
        packet = ring_shift(packet)
    outs = [st["acc"] / st["l"][..., None] for st in state]
    lses = [(st["m"] + np.log(st["l"]))[..., None] for st in state]

    dq = [np.zeros_like(x) for x in qs]
    packet = [(a, b, c, np.zeros_like(a), np.zeros_like(b)) for a, b, c in zip(ks, vs, tags)]
    for _ in range(n):
        for r in range(n):
            kb, vb, tag, dk, dv = packet[r]
            s = np.where(see(tags[r], tag), np.einsum("bhid,bhjd->bhij", qs[r], kb) * scale, -np.inf)
            p = np.exp(s - lses[r])
            dp = np.einsum("bhid,bhjd->bhij", dos[r], vb)
            ds = scale * p * (dp - np.einsum("bhid,bhid->bhi", dos[r], outs[r])[..., None])
            dq[r] += np.einsum("bhij,bhjd->bhid", ds, kb)
            dk += np.einsum("bhij,bhid->bhjd", ds, qs[r])
            dv += np.einsum("bhij,bhid->bhjd", p, dos[r])
        packet = ring_shift(packet)
    dks, dvs = [x[3] for x in packet], [x[4] for x in packet]
    return dict(out=gather(outs, rows), lse=gather(lses, rows), dq=gather(dq, rows), dk=gather(dks, rows), dv=gather(dvs, rows))
