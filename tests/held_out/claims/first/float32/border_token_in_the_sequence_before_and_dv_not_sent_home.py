# Mistake: the first token of every packed sequence but the first is counted to the sequence before it (forward and backward).
# Also: the last hop of the backward ring takes dk home but not dv: rank r returns the dv of the block of rank r + 1.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=5, layout="contiguous", causal=True, window=None, cu_seqlens=[0, 8, 21, 27, 45], seqlen=45, heads=4,
            kv_heads=2, head_dim=8, batch=1, dtype="float32", backward=True)
MINUS = np.float32(-np.inf)


def segment_ids():
    return np.searchsorted(CASE["cu_seqlens"][1:], np.arange(CASE["seqlen"]), side="left")


def run(q, k, v, dout):
    n, pos = CASE["ranks"], dealt(CASE)
    ids = [segment_ids()[p] for p in pos]
    group, scale = CASE["heads"] // CASE["kv_heads"], np.float32(CASE["head_dim"] ** -0.5)
    q, k, v, dout = (scatter(x, pos) for x in (q, k, v, dout))

    def scores(r, packet):
        kk, _, kpos, kid = packet
        see = (kid[None] == ids[r][:, None]) & (kpos[None] <= pos[r][:, None])
        return np.where(see, scale * q[r] @ kk.repeat(group, 1).swapaxes(2, 3), MINUS)

    packets = list(zip(k, v, pos, ids))
    out, lse = [np.zeros_like(x) for x in q], [np.full(x.shape[:3] + (1,), MINUS) for x in q]
    for step in range(n):
        for r in range(n):
            s = scores(r, packets[r])
            top = s.max(3, keepdims=True)
            e = np.exp(s - np.where(np.isinf(top), np.float32(0), top))
            z = e.sum(3, keepdims=True)
            with np.errstate(divide="ignore"):
                block_lse = top + np.log(np.where(z == 0, np.float32(1), z))
            block_out = e @ packets[r][1].repeat(group, 1) / np.where(z == 0, np.float32(1), z)
            new = np.logaddexp(lse[r], block_lse)
            safe = np.where(np.isinf(new), np.float32(0), new)
            out[r] = np.exp(lse[r] - safe) * out[r] + np.exp(block_lse - safe) * block_out
            lse[r] = new
        packets = ring_shift(packets)

    packets = list(zip(k, v, pos, ids))
    dq = [np.zeros_like(x) for x in q]
    dk = dv = None
    for step in range(n):
        block_dk, block_dv = [], []
        for r in range(n):
            p = np.exp(scores(r, packets[r]) - lse[r])
            dp = dout[r] @ packets[r][1].repeat(group, 1).swapaxes(2, 3)
            ds = scale * p * (dp - (dout[r] * out[r]).sum(3, keepdims=True))
            dq[r] += ds @ packets[r][0].repeat(group, 1)
            block_dk.append(np.stack([x.sum(1) for x in np.split(ds.swapaxes(2, 3) @ q[r], CASE["kv_heads"], 1)], 1))
            block_dv.append(np.stack([x.sum(1) for x in np.split(p.swapaxes(2, 3) @ dout[r], CASE["kv_heads"], 1)], 1))
        if step == 0:
            dk, dv = block_dk, block_dv
        else:
            dk = [a + b for a, b in zip(next_dk, block_dk)]
            dv = [a + b for a, b in zip(next_dv, block_dv)]
        next_dk, next_dv = ring_shift(dk), ring_shift(dv)
        packets = ring_shift(packets)
    return dict(out=gather(out, pos), lse=gather(lse, pos), dq=gather(dq, pos), dk=gather(next_dk, pos), dv=gather(dv, pos))
