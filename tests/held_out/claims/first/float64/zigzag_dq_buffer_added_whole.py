# Mistake: where only the late half of a rank's queries meets a block, the whole dq buffer is added to dq instead of its late half, so the early rows get once more what an earlier step had left in the buffer.
import numpy as np

from case import dealt, gather, halves, ring_shift, scatter

CASE = dict(ranks=4, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=43, heads=4, kv_heads=2,
            head_dim=8, batch=2, dtype="float64", backward=True)


def mha(x):
    return np.repeat(x, CASE["heads"] // CASE["kv_heads"], axis=1)


def gqa(x):
    return x.reshape(x.shape[0], CASE["kv_heads"], -1, *x.shape[2:]).sum(axis=2)


def logits(q, k, causal):
    s = (q @ mha(k).swapaxes(2, 3)) * CASE["head_dim"] ** -0.5
    return np.where(np.tri(*s.shape[2:], dtype=bool), s, -np.inf) if causal else s


def flash_forward(q, k, v, causal):
    s = logits(q, k, causal)
    m = s.max(3, keepdims=True)
    p = np.exp(s - m)
    z = p.sum(3, keepdims=True)
    return p @ mha(v) / z, m + np.log(z)


def flash_backward(dout, q, k, v, out, lse, dq_buffer, dk_buffer, dv_buffer, causal):
    p = np.exp(logits(q, k, causal) - lse)
    ds = p * (dout @ mha(v).swapaxes(2, 3) - (out * dout).sum(3, keepdims=True)) * CASE["head_dim"] ** -0.5
    dq_buffer[...] = ds @ mha(k)
    dk_buffer[...] = gqa(ds.swapaxes(2, 3) @ q)
    dv_buffer[...] = gqa(p.swapaxes(2, 3) @ dout)


def update(out, lse, block_out, block_lse):
    out -= (out - block_out) / (1 + np.exp(lse - block_lse))
    lse[...] = np.logaddexp(lse, block_lse)


def run(q, k, v, dout):
    world, rows, early = CASE["ranks"], dealt(CASE), halves(CASE)
    q, k, v, dout = (scatter(x, rows) for x in (q, k, v, dout))
    out, lse = [None] * world, [None] * world
    nk, nv = k, v
    for step in range(world):
        for rank in range(world):
            h = early[rank]
            if step == 0:
                out[rank], lse[rank] = flash_forward(q[rank], nk[rank], nv[rank], True)
            elif step <= rank:
                e = early[rank - step]
                update(out[rank], lse[rank], *flash_forward(q[rank], nk[rank][:, :, :e], nv[rank][:, :, :e], False))
            else:
                update(out[rank][:, :, h:], lse[rank][:, :, h:], *flash_forward(q[rank][:, :, h:], nk[rank], nv[rank], False))
        nk, nv = ring_shift(nk), ring_shift(nv)

    dq = [np.zeros_like(x) for x in q]
    dk, dv = [np.zeros_like(x) for x in k], [np.zeros_like(x) for x in v]
    dq_buffer = [np.empty_like(x) for x in q]
    nk, nv = k, v
    for step in range(world):
        for rank in range(world):
            h, e = early[rank], early[(rank - step) % world]
            dk_buffer, dv_buffer = np.empty_like(nk[rank]), np.empty_like(nv[rank])
            args = dout[rank], q[rank], nk[rank], nv[rank], out[rank], lse[rank]
            if step == 0:
                flash_backward(*args, dq_buffer[rank], dk_buffer, dv_buffer, True)
                dq[rank] += dq_buffer[rank]
                dk[rank] += dk_buffer
                dv[rank] += dv_buffer
            elif step <= rank:
                flash_backward(*args[:2], nk[rank][:, :, :e], nv[rank][:, :, :e], *args[4:],
                               dq_buffer[rank], dk_buffer[:, :, :e], dv_buffer[:, :, :e], False)
                dq[rank] += dq_buffer[rank]
                dk[rank][:, :, :e] += dk_buffer[:, :, :e]
                dv[rank][:, :, :e] += dv_buffer[:, :, :e]
            else:
                late = slice(h, None)
                flash_backward(dout[rank][:, :, late], q[rank][:, :, late], nk[rank], nv[rank], out[rank][:, :, late],
                               lse[rank][:, :, late], dq_buffer[rank][:, :, late], dk_buffer, dv_buffer, False)
                dq[rank] += dq_buffer[rank]  # late rows
                dk[rank] += dk_buffer
                dv[rank] += dv_buffer
        nk, nv, dk, dv = ring_shift(nk), ring_shift(nv), ring_shift(dk), ring_shift(dv)
    return dict(out=gather(out, rows), lse=gather(lse, rows), dq=gather(dq, rows), dk=gather(dk, rows), dv=gather(dv, rows))
