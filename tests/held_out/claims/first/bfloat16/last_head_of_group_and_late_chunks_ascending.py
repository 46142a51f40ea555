# Mistake: dk and dv of a KV head are those of the last query head of its group, which overwrites the others, instead of the sum over the group.
# Also: when the returned out and lse are put back into the order of the sequence, the late chunk of rank r is taken for chunk N + r instead of 2N - 1 - r; the gradients are put back rightly.
import numpy as np

CASE = dict(ranks=4, layout="zigzag", causal=True, window=None, cu_seqlens=None, seqlen=51, heads=6, kv_heads=2,
            head_dim=8, batch=1, dtype="bfloat16", backward=True)
N = CASE["ranks"]
CHUNKS = np.array_split(np.arange(CASE["seqlen"]), 2 * N)


def late_chunk(rank):
    return 2 * N - 1 - rank


def late_chunk_on_return(rank):
    return N + rank


def order(late):
    return np.concatenate([np.concatenate([CHUNKS[r], CHUNKS[late(r)]]) for r in range(N)])


def restore(parts, late):
    joined = np.concatenate(parts, axis=2)
    whole = np.empty_like(joined)
    whole[:, :, order(late)] = joined
    return whole


def run(q, k, v, dout):
    pos = [np.concatenate([CHUNKS[r], CHUNKS[late_chunk(r)]]) for r in range(N)]
    group, scale = CASE["heads"] // CASE["kv_heads"], CASE["head_dim"] ** -0.5
    outs, lses, dqs = [], [], []
    dks, dvs = [np.zeros_like(k[:, :, p]) for p in pos], [np.zeros_like(v[:, :, p]) for p in pos]
    for r in range(N):
        mine, g = q[:, :, pos[r]], dout[:, :, pos[r]]
        out, lse = np.zeros_like(mine), np.full(mine.shape[:3] + (1,), -np.inf)
        for j in [(r - t) % N for t in range(N)]:
            see = pos[j][None, :] <= pos[r][:, None]
            for h in range(CASE["heads"]):
                s = np.where(see, scale * mine[:, h] @ k[:, h // group, pos[j]].swapaxes(1, 2), -np.inf)
                top = s.max(2, keepdims=True)
                base = np.where(np.isinf(top), 0, top)
                e = np.exp(s - base)
                with np.errstate(divide="ignore"):
                    new = np.logaddexp(lse[:, h], base + np.log(e.sum(2, keepdims=True)))
                out[:, h] = np.exp(lse[:, h] - new) * out[:, h] + np.exp(base - new) * (e @ v[:, h // group, pos[j]])
                lse[:, h] = new
        delta = (out * g).sum(3, keepdims=True)
        dq = np.zeros_like(mine)
        for j in [(r - t) % N for t in range(N)]:
            see = pos[j][None, :] <= pos[r][:, None]
            dk, dv = np.zeros_like(dks[j]), np.zeros_like(dvs[j])
            for h in range(CASE["heads"]):
                kk, vv = k[:, h // group, pos[j]], v[:, h // group, pos[j]]
                p = np.exp(np.where(see, scale * mine[:, h] @ kk.swapaxes(1, 2), -np.inf) - lse[:, h])
                ds = scale * p * (g[:, h] @ vv.swapaxes(1, 2) - delta[:, h])
                dq[:, h] += ds @ kk
                dk[:, h // group] = ds.swapaxes(1, 2) @ mine[:, h]
                dv[:, h // group] = p.swapaxes(1, 2) @ g[:, h]
            dks[j] += dk
            dvs[j] += dv
        outs.append(out)
        lses.append(lse)
        dqs.append(dq)
    return dict(out=restore(outs, late_chunk_on_return), lse=restore(lses, late_chunk_on_return),
                dq=restore(dqs, late_chunk), dk=restore(dks, late_chunk), dv=restore(dvs, late_chunk))
