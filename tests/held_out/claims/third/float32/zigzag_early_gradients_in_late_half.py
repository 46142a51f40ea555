# Mistake: In the backward zig-zag, the dk and dv of the early chunk of an earlier rank's block (owner < rank) are added to the late half of the travelling dk and dv buffers instead of their early half; out, lse and dq are right.
import numpy as np

from case import dealt, gather, ring_shift, scatter

CASE = dict(ranks=3, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=42, heads=6, kv_heads=2,
            head_dim=8, batch=1, dtype="float32", backward=True)
GROUP, SCALE = CASE["heads"] // CASE["kv_heads"], CASE["head_dim"] ** -0.5
C = CASE["seqlen"] // (2 * CASE["ranks"])


def attend(q, k, v, causal):
    s = SCALE * q @ np.repeat(k, GROUP, 1).swapaxes(2, 3)
    if causal:
        s = np.where(np.tri(*s.shape[2:], dtype=bool), s, np.float32(-np.inf))
    lse = np.logaddexp.reduce(s, axis=3, keepdims=True)
    return np.exp(s - lse) @ np.repeat(v, GROUP, 1), lse


def join(out, lse, new_out, new_lse):
    """In place; rows of views are allowed."""
    both = np.logaddexp(lse, new_lse)
    out[...] = np.exp(lse - both) * out + np.exp(new_lse - both) * new_out
    lse[...] = both


def attend_backward(q, k, v, do, out, lse, causal):
    p = np.exp(SCALE * q @ np.repeat(k, GROUP, 1).swapaxes(2, 3) - lse)
    if causal:
        p = p * np.tri(*p.shape[2:], dtype=p.dtype)
    ds = SCALE * p * (do @ np.repeat(v, GROUP, 1).swapaxes(2, 3) - (do * out).sum(3, keepdims=True))
    fold = lambda x: x.reshape(x.shape[0], -1, GROUP, *x.shape[2:]).sum(2)
    return ds @ np.repeat(k, GROUP, 1), fold(ds.swapaxes(2, 3) @ q), fold(p.swapaxes(2, 3) @ do)


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    qs, ks, vs, dos = (scatter(x, rows) for x in (q, k, v, dout))
    outs, lses = map(list, zip(*(attend(a, b, c, True) for a, b, c in zip(qs, ks, vs))))
    for t in range(1, n):
        for r in range(n):
            b = (r - t) % n
            if b < r:
                join(outs[r], lses[r], *attend(qs[r], ks[b][:, :, :C], vs[b][:, :, :C], False))
            else:
                join(outs[r][:, :, C:], lses[r][:, :, C:], *attend(qs[r][:, :, C:], ks[b], vs[b], False))

    dq = [np.zeros_like(x) for x in qs]
    kv = list(zip(ks, vs))
    dkv = [(np.zeros_like(a), np.zeros_like(b)) for a, b in kv]
    for t in range(n):
        for r in range(n):
            (kb, vb), (dk, dv), b = kv[r], dkv[r], (r - t) % n
            if b == r:
                a, c, d = attend_backward(qs[r], kb, vb, dos[r], outs[r], lses[r], True)
                dq[r] += a
                dk += c
                dv += d
            elif b < r:
                a, c, d = attend_backward(qs[r], kb[:, :, :C], vb[:, :, :C], dos[r], outs[r], lses[r], False)
                dq[r] += a
                dk[:, :, C:] += c
                dv[:, :, C:] += d
            else:
                late = lambda x: x[:, :, C:]
                a, c, d = attend_backward(late(qs[r]), kb, vb, late(dos[r]), late(outs[r]), late(lses[r]), False)
                dq[r][:, :, C:] += a
                dk += c
                dv += d
        kv, dkv = ring_shift(kv), ring_shift(dkv)
    dk, dv = zip(*dkv)
    return dict(out=gather(outs, rows), lse=gather(lses, rows), dq=gather(dq, rows), dk=gather(dk, rows),
                dv=gather(dv, rows))
