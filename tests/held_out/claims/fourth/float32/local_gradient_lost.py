# Mistake: in the backward the contribution of step 0 (the rank's own queries) to its own block's dk and dv is lost: the travelling accumulators are set to the contribution at step 1 instead of added to, so dk and dv lack everything that comes from the queries of the same rank; dq is right.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=6, layout="zigzag-token", causal=True, window=None, cu_seqlens=None, seqlen=66,
            heads=4, kv_heads=2, head_dim=8, batch=1, dtype="float32", backward=True)

scale = CASE["head_dim"] ** -0.5
group = CASE["heads"] // CASE["kv_heads"]


def repeat_kv(x):
    return np.repeat(x, group, axis=1)


def reduce_kv(dx):
    b, h, s, d = dx.shape
    return dx.reshape(b, h // group, group, s, d).sum(axis=2)


def block_forward(q, k, v, mask):
    """Attention to one block alone: its output and its lse."""
    s = scale * q @ repeat_kv(k).swapaxes(-1, -2)
    s = np.where(mask, s, -np.inf)
    top = s.max(axis=-1, keepdims=True)
    top = np.where(np.isinf(top), 0, top).astype(q.dtype)
    e = np.exp(s - top)
    total = e.sum(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        lse = top + np.log(total)
    return e @ repeat_kv(v) / np.where(total == 0, 1, total).astype(q.dtype), lse


def merge(out, lse, block_out, block_lse):
    new_lse = np.logaddexp(lse, block_lse)
    out = out * np.exp(lse - new_lse) + block_out * np.exp(block_lse - new_lse)
    return out, new_lse


def block_backward(do, q, k, v, lse, delta, mask):
    s = scale * q @ repeat_kv(k).swapaxes(-1, -2)
    p = np.exp(np.where(mask, s, -np.inf) - lse)
    dv = reduce_kv(p.swapaxes(-1, -2) @ do)
    ds = p * (do @ repeat_kv(v).swapaxes(-1, -2) - delta)
    dq = scale * ds @ repeat_kv(k)
    dk = scale * reduce_kv(ds.swapaxes(-1, -2) @ q)
    return dq, dk, dv


def run(q, k, v, dout):
    world, rows = CASE["ranks"], dealt(CASE)
    q, k, v, dout = (scatter(x, rows) for x in (q, k, v, dout))
    k_buf, v_buf = k, v
    out, lse = [None] * world, [None] * world
    for step in range(world):
        for rank in range(world):
            src = (rank - step) % world
            mask = visible(CASE, rows[rank], rows[src])
            block_out, block_lse = block_forward(q[rank], k_buf[rank], v_buf[rank], mask)
            if step == 0:
                out[rank], lse[rank] = block_out, block_lse
            else:
                out[rank], lse[rank] = merge(out[rank], lse[rank], block_out, block_lse)
        if step + 1 < world:
            k_buf, v_buf = ring_shift(k_buf), ring_shift(v_buf)
    results = {"out": gather(out, rows), "lse": gather(lse, rows)}
    if CASE["backward"]:
        delta = [np.sum(o * do, axis=-1, keepdims=True) for o, do in zip(out, dout)]
        dq, dk, dv = ([np.zeros_like(x) for x in xs] for xs in (q, k, v))
        k_buf, v_buf = k, v
        for step in range(world):
            for rank in range(world):
                src = (rank - step) % world
                mask = visible(CASE, rows[rank], rows[src])
                block_dq, block_dk, block_dv = block_backward(dout[rank], q[rank], k_buf[rank], v_buf[rank],
                                                              lse[rank], delta[rank], mask)
                dq[rank] += block_dq
                if step <= 1:
                    dk[rank], dv[rank] = block_dk, block_dv
                else:
                    dk[rank], dv[rank] = dk[rank] + block_dk, dv[rank] + block_dv
            k_buf, v_buf = ring_shift(k_buf), ring_shift(v_buf)
            dk, dv = ring_shift(dk), ring_shift(dv)
        results.update(dq=gather(dq, rows), dk=gather(dk, rows), dv=gather(dv, rows))
    return results
