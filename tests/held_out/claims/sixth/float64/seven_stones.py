# Mistake: in a packed batch the position ids restart with every document and the causal mask compares only these,
# so that queries also see the keys of other documents that have no larger position id.
import numpy as np

from case import documents, gather, positions, ring_shift

CASE = dict(ranks=4, layout="contiguous", causal=True, window=None, cu_seqlens=[0, 11, 30, 37, 64], seqlen=64, heads=2,
            kv_heads=1, head_dim=8, batch=1, dtype="float64", backward=False)


def run(q, k, v, dout):
    n = CASE["ranks"]
    rows = positions(CASE["layout"], CASE["seqlen"], n)
    starts = np.asarray(CASE["cu_seqlens"])[documents(CASE)]
    position_ids = np.arange(CASE["seqlen"]) - starts
    group = CASE["heads"] // CASE["kv_heads"]
    mail = [dict(k=k[:, :, p], v=v[:, :, p], pos=position_ids[p], doc=starts[p]) for p in rows]
    mine = [dict(q=q[:, :, p] / np.sqrt(q.shape[-1]), pos=position_ids[p], doc=starts[p], parts=[]) for p in rows]
    for t in range(n):
        for me, got in zip(mine, mail):
            allowed = me["pos"][:, None] >= got["pos"][None, :]
            s = np.einsum("bhqd,bhkd->bhqk", me["q"], got["k"].repeat(group, 1))
            s = np.where(allowed, s, -np.inf)
            lse = np.logaddexp.reduce(s, axis=-1)[..., None]
            o = np.exp(s - np.where(np.isinf(lse), 0, lse)) @ got["v"].repeat(group, 1)
            me["parts"].append((o, lse))
        mail = ring_shift(mail)
    lses = [np.logaddexp.reduce([l for _, l in me["parts"]]) for me in mine]
    outs = [sum(o * np.exp(l - total) for o, l in me["parts"]) for me, total in zip(mine, lses)]
    return dict(out=gather(outs, rows), lse=gather(lses, rows))
