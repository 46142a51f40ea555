# Mistake: In Ulysses with fewer key heads than ranks, rank r attends with key head r modulo kv_heads (and adds dk and dv there), instead of with key head r * kv_heads // ranks, the one its query heads belong to.
import numpy as np

from case import dealt, gather, scatter, visible

CASE = dict(ranks=4, layout="contiguous", causal=True, window=None, cu_seqlens=None, seqlen=38, heads=8, kv_heads=2,
            head_dim=8, batch=2, dtype="float64", backward=True)


def all_to_all_heads(parts, heads_of):
    """Rank r gets its heads of the whole sequence."""
    return [np.concatenate([x[:, heads_of(r)] for x in parts], axis=2) for r in range(len(parts))]


def all_to_all_rows(parts, rows):
    """Rank r gets its rows of all heads."""
    cuts = np.cumsum([len(p) for p in rows])[:-1]
    pieces = [np.split(x, cuts, axis=2) for x in parts]
    return [np.concatenate([p[r] for p in pieces], axis=1) for r in range(len(rows))]


def run(q, k, v, dout):
    n, rows, scale = CASE["ranks"], dealt(CASE), CASE["head_dim"] ** -0.5
    share = CASE["heads"] // n
    own = lambda r: slice(share * r, share * (r + 1))
    replica = lambda r: slice(r % CASE["kv_heads"], r % CASE["kv_heads"] + 1)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    qh, doh = all_to_all_heads(qs, own), all_to_all_heads(dos, own)
    kh, vh = all_to_all_heads(ks, replica), all_to_all_heads(vs, replica)
    order = np.concatenate(rows)
    see = visible(CASE, order, order)
    oh, eh, dqh = [], [], []
    dkh = np.zeros(k.shape)
    dvh = np.zeros(v.shape)
    for r in range(n):
        s = np.where(see, scale * qh[r] @ kh[r].swapaxes(2, 3), -np.inf)
        top = s.max(3, keepdims=True)
        lse = top + np.log(np.exp(s - top).sum(3, keepdims=True))
        p = np.exp(s - lse)
        o = p @ vh[r]
        ds = scale * p * (doh[r] @ vh[r].swapaxes(2, 3) - (o * doh[r]).sum(3, keepdims=True))
        oh.append(o)
        eh.append(lse)
        dqh.append(ds @ kh[r])
        dkh[:, replica(r)] += (ds.swapaxes(2, 3) @ qh[r]).sum(1, keepdims=True)
        dvh[:, replica(r)] += (p.swapaxes(2, 3) @ doh[r]).sum(1, keepdims=True)
    cuts = np.cumsum([len(p) for p in rows])[:-1]
    outs, lses, dq = (all_to_all_rows(x, rows) for x in (oh, eh, dqh))
    dk, dv = np.split(dkh, cuts, 2), np.split(dvh, cuts, 2)
    return dict(zip(("out", "lse", "dq", "dk", "dv"), (gather(x, rows) for x in (outs, lses, dq, dk, dv))))
