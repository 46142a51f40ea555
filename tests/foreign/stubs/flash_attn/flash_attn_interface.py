"""The private functions of flash_attn that ring_flash_attn calls, with PyTorch on a CPU.

flash_attn itself needs a GPU. Shapes and order of arguments are those of flash-attn 2.7; as there, products and sums are
float32, P and dS are rounded to the type of the inputs before they are multiplied, causal masks are aligned at the
bottom right, and lse is float32 [batch, heads, seqlen], packed [heads, total].
"""
import torch

faults = set()  # planted: "no delta", "mask one late"


def visible(rows, columns, causal, left, right):
    """Which keys each query sees, as [rows, columns]."""
    distance = torch.arange(columns)[None, :] - (torch.arange(rows)[:, None] + columns - rows)
    if causal:
        right = 1 if "mask one late" in faults else 0
    seen = torch.ones(rows, columns, dtype=torch.bool)
    if left >= 0:
        seen &= distance >= -left
    if right >= 0:
        seen &= distance <= right
    return seen


def heads_first(x, heads):
    """[batch, seqlen, h, d] as float32 [batch, heads, seqlen, d], each key head for all of its query heads."""
    return x.float().transpose(1, 2).repeat_interleave(heads // x.shape[2], dim=1)


def per_key_head(x, heads):
    """The sum over the query heads of each key head, [batch, seqlen, heads, d]."""
    return x.unflatten(1, (heads, -1)).sum(2).transpose(1, 2)


def _flash_attn_forward(q, k, v, dropout_p, softmax_scale, causal, window_size_left, window_size_right, softcap,
                        alibi_slopes, return_softmax):
    assert dropout_p == 0 and softcap == 0 and alibi_slopes is None
    heads = q.shape[2]
    query, key, value = (heads_first(x, heads) for x in (q, k, v))
    seen = visible(q.shape[1], k.shape[1], causal, window_size_left, window_size_right)
    scores = (query @ key.transpose(2, 3) * softmax_scale).masked_fill(~seen, -torch.inf)
    largest = scores.amax(-1, keepdim=True)
    largest = largest.masked_fill(largest == -torch.inf, 0)  # a row that sees nothing
    weights = torch.exp(scores - largest)
    total = weights.sum(-1, keepdim=True)
    out = weights.to(q.dtype).float() @ value / total.where(total > 0, torch.ones(()))
    return out.transpose(1, 2).to(q.dtype), (largest + total.log()).squeeze(-1), None, None


def _flash_attn_backward(dout, q, k, v, out, softmax_lse, dq, dk, dv, dropout_p, softmax_scale, causal, window_size_left,
                         window_size_right, softcap, alibi_slopes, deterministic, rng_state=None):
    assert dropout_p == 0 and softcap == 0 and alibi_slopes is None
    heads, kv_heads = q.shape[2], k.shape[2]
    query, key, value, upstream, result = (heads_first(x, heads) for x in (q, k, v, dout, out))
    seen = visible(q.shape[1], k.shape[1], causal, window_size_left, window_size_right)
    weights = torch.exp(query @ key.transpose(2, 3) * softmax_scale - softmax_lse.unsqueeze(-1)).masked_fill(~seen, 0)
    delta = (upstream * result).sum(-1, keepdim=True)
    if "no delta" in faults:
        delta = torch.zeros_like(delta)
    d_scores = (weights * (upstream @ value.transpose(2, 3) - delta)).to(q.dtype).float()
    dq.copy_((d_scores @ key * softmax_scale).transpose(1, 2))
    dk.copy_(per_key_head(d_scores.transpose(2, 3) @ query * softmax_scale, kv_heads))
    dv.copy_(per_key_head(weights.to(q.dtype).float().transpose(2, 3) @ upstream, kv_heads))


def sequences(cu_seqlens):
    """The slice of each packed sequence."""
    ends = cu_seqlens.tolist()
    return [slice(begin, end) for begin, end in zip(ends, ends[1:])]


def _flash_attn_varlen_forward(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p, softmax_scale,
                               causal, window_size_left, window_size_right, softcap, alibi_slopes, return_softmax):
    parts = [_flash_attn_forward(q[None, rows], k[None, columns], v[None, columns], dropout_p, softmax_scale, causal,
                                 window_size_left, window_size_right, softcap, alibi_slopes, return_softmax)
             for rows, columns in zip(sequences(cu_seqlens_q), sequences(cu_seqlens_k))]
    return torch.cat([part[0][0] for part in parts]), torch.cat([part[1][0] for part in parts], dim=1), None, None


def _flash_attn_varlen_backward(dout, q, k, v, out, softmax_lse, dq, dk, dv, cu_seqlens_q, cu_seqlens_k, max_seqlen_q,
                                max_seqlen_k, dropout_p, softmax_scale, causal, window_size_left, window_size_right,
                                softcap, alibi_slopes, deterministic, rng_state=None):
    for rows, columns in zip(sequences(cu_seqlens_q), sequences(cu_seqlens_k)):
        _flash_attn_backward(dout[None, rows], q[None, rows], k[None, columns], v[None, columns], out[None, rows],
                             softmax_lse[None, :, rows], dq[None, rows], dk[None, columns], dv[None, columns], dropout_p,
                             softmax_scale, causal, window_size_left, window_size_right, softcap, alibi_slopes,
                             deterministic)
