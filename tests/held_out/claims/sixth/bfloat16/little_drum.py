# Mistake: the mask is put on the probabilities, after the running sum has taken them in: hidden keys are missing from the
# numerator but not from the denominator.
import numpy as np

from case import dealt, gather, ring_shift, scatter, visible

CASE = dict(ranks=3, layout="contiguous", causal=True, window=None, cu_seqlens=None, seqlen=39, heads=4, kv_heads=4,
            head_dim=4, batch=2, dtype="bfloat16", backward=False)


def online(carry, q, k, v, see):
    m, l, acc = carry
    s = np.einsum("bhqd,bhkd->bhqk", q, k) * q.shape[-1] ** -0.5
    m_new = np.maximum(m, s.max(-1))
    p = np.exp(s - m_new[..., None])
    l = l * np.exp(m - m_new) + p.sum(-1)
    p = p * see
    acc = acc * np.exp(m - m_new)[..., None] + np.einsum("bhqk,bhkd->bhqd", p, v)
    return m_new, l, acc


def run(q, k, v, dout):
    n, rows = CASE["ranks"], dealt(CASE)
    qs, ks, vs = (scatter(x, rows) for x in (q, k, v))
    carry = [(np.full(x.shape[:3], -np.inf), np.zeros(x.shape[:3]), np.zeros_like(x)) for x in qs]
    for t in range(n):
        for r in range(n):
            src = (r - t) % n
            if rows[src][0] <= rows[r][-1]:
                carry[r] = online(carry[r], qs[r], ks[r], vs[r], visible(CASE, rows[r], rows[src]))
        ks, vs = ring_shift(ks), ring_shift(vs)
    return dict(out=gather([acc / l[..., None] for m, l, acc in carry], rows),
                lse=gather([(m + np.log(l))[..., None] for m, l, acc in carry], rows))
