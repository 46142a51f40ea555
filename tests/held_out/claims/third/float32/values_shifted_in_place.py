# Mistake: The ring hands the values on in one set of buffers, in place and in the order of the ranks (buffer[r] = buffer[r - 1] for r = 0, 1, ...), so after the first hop every rank holds the values of the last rank's block; the keys travel rightly, only out is wrong.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=4, layout="contiguous", causal=True, window=None, cu_seqlens=None, seqlen=48, heads=4, kv_heads=2,
            head_dim=8, batch=2, dtype="float32", backward=False)


def hand_on(buffers):
    for r in range(len(buffers)):
        buffers[r][...] = buffers[r - 1]


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    group, scale = CASE["heads"] // CASE["kv_heads"], CASE["head_dim"] ** -0.5
    qs, keys, values = (scatter(x, rows) for x in (q, k, v))
    partial = [[] for _ in range(n)]
    for t in range(n):
        for r in range(t, n):  # the blocks of later ranks are all in the future
            see = visible(CASE, rows[r], rows[r - t])
            s = np.where(see, scale * qs[r] @ keys[r].repeat(group, axis=1).swapaxes(2, 3), np.float32(-np.inf))
            z = np.logaddexp.reduce(s, axis=3, keepdims=True)
            partial[r].append((np.exp(s - z) @ values[r].repeat(group, axis=1), z))
        keys = ring_shift(keys)
        hand_on(values)
    outs, lses = [], []
    for parts in partial:
        lse = np.logaddexp.reduce([z for _, z in parts], axis=0)
        outs.append(sum(o * np.exp(z - lse) for o, z in parts))
        lses.append(lse)
    return dict(out=gather(outs, rows), lse=gather(lses, rows))
