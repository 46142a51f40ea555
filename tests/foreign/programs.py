"""Attention as others wrote it, called as its users call it.

A program takes a problem and the rows that this rank holds, [batch, seqlen, heads, head_dim], and returns what is to be
judged. Everything that it says about axes, layouts and types is its own.
"""
import contextlib
import inspect

import torch
import torch.distributed as dist

import problem as asked

TYPES = (torch.float32, torch.bfloat16, torch.float16)
WIDE_TYPES = (torch.float64, torch.float32)


def with_gradients(attention, local):
    """The results of attention(q, k, v) -> {"out": ..., ...}, and its gradients by autograd."""
    q, k, v = (local[name].clone().requires_grad_() for name in ("q", "k", "v"))
    answers = attention(q, k, v)
    answers["out"].backward(local["dout"].reshape(answers["out"].shape))
    return {**answers, "dq": q.grad, "dk": k.grad, "dv": v.grad}


@contextlib.contextmanager
def patched(owner, name, replacement):
    """A planted fault: another value for owner.name."""
    kept = getattr(owner, name)
    setattr(owner, name, replacement)
    try:
        yield
    finally:
        setattr(owner, name, kept)


# ------------------------------------------------------------------------------ PyTorch on one device

def grouped(x, heads):
    return x.transpose(1, 2).repeat_interleave(heads // x.shape[2], dim=1)


def torch_sdpa(backend):
    """torch.nn.functional.scaled_dot_product_attention with one of its backends."""
    from torch.nn.attention import sdpa_kernel

    def run(problem, local):
        def attention(q, k, v):
            mask = None if problem.window == (-1, -1) else problem.mask()
            with sdpa_kernel(backend):
                out = torch.nn.functional.scaled_dot_product_attention(
                    q.transpose(1, 2), grouped(k, problem.heads), grouped(v, problem.heads), attn_mask=mask,
                    is_causal=problem.causal and mask is None)
            return {"out": out.transpose(1, 2)}
        return with_gradients(attention, local)
    return run


def naive(problem, local):
    """The few lines that everyone writes first: every intermediate in the type of the inputs."""
    def attention(q, k, v):
        scores = q.transpose(1, 2) @ grouped(k, problem.heads).transpose(2, 3) * problem.head_dim ** -0.5
        mask = problem.mask()
        if mask is not None:
            scores = scores.masked_fill(~mask, -torch.inf)
        return {"out": (scores.softmax(-1) @ grouped(v, problem.heads)).transpose(1, 2)}
    return with_gradients(attention, local)


# ----------------------------------------------------------------- PyTorch on one device, over gathered keys

def torch_gathered(layout, corner, near):
    """Each rank's queries over the keys up to its last one, from its first window on if `near`, in one call of
    scaled_dot_product_attention, whose mask is aligned at a corner of what it gets."""
    from torch.distributed.nn.functional import all_gather
    from torch.nn.attention.bias import causal_lower_right, causal_upper_left

    def run(problem, local):
        rows = [asked.rows_of(layout, problem, rank) for rank in range(asked.RANKS)]
        own, order = rows[dist.get_rank()], torch.cat(rows).argsort()
        keys = slice(max(0, int(own.min()) - problem.window[0]) if near else 0, int(own.max()) + 1)
        shape = len(own), keys.stop - keys.start

        def mask():
            if problem.window[0] < 0:
                return (causal_lower_right if corner == "lower right" else causal_upper_left)(*shape)
            diagonal = shape[1] - shape[0] if corner == "lower right" else 0
            return torch.ones(shape, dtype=torch.bool).tril(diagonal).triu(diagonal - problem.window[0])

        def attention(q, k, v):
            k, v = (grouped(torch.cat(all_gather(x), dim=1)[:, order][:, keys], problem.heads) for x in (k, v))
            out = torch.nn.functional.scaled_dot_product_attention(q.transpose(1, 2), k, v, attn_mask=mask())
            return {"out": out.transpose(1, 2)}
        return with_gradients(attention, local)
    return run


# --------------------------------------------------------------------------- PyTorch's context parallelism

def torch_ring(balanced):
    """The ring of torch.distributed.tensor.experimental, over PyTorch's flash attention for CPUs."""
    from torch.distributed.tensor.experimental._context_parallel import _attention as ring
    aten = torch.ops.aten

    def run(problem, local):
        ring._cp_options.enable_load_balance = balanced
        q, k, v, dout = (x.transpose(1, 2).contiguous() for x in
                         (local["q"], local["k"], local["v"], local["dout"]))
        group = dist.group.WORLD
        out, lse, *_ = ring._templated_ring_attention(
            group, 2, aten._scaled_dot_product_flash_attention_for_cpu, q, k, v, is_causal=problem.causal, dropout_p=0.0)
        dq, dk, dv, *_ = ring._templated_ring_attention_backward(
            group, 2, aten._scaled_dot_product_flash_attention_for_cpu_backward.default, dout, "grad_out", q, k, v, out,
            lse, problem.causal, dropout_p=0.0)
        return {"out": out, "lse": lse, "dq": dq, "dk": dk, "dv": dv}
    return run


def torch_ring_faults():
    from torch.distributed.tensor.experimental._context_parallel import _attention as ring
    merge = inspect.unwrap(ring._SDPAMerger._merge_one)

    def averaged(self, block_out, block_lse, partial):
        return merge(self, block_out, torch.zeros_like(block_lse), partial)

    def late(self, curr_buffer):
        self._buffer = curr_buffer  # each rank keeps its own block

    return {"equal weights for all blocks": (ring._SDPAMerger, "_merge_one", averaged),
            "gradients of blocks stay where they are": (ring._AllToAllRotater, "exchange_buffers", late)}


# ------------------------------------------------------------------------------------ ring-flash-attn

def ring_flash_attention(name):
    """ring_flash_attn_func, zigzag_ring_flash_attn_func or stripe_flash_attn_func."""
    import ring_flash_attn
    function = getattr(ring_flash_attn, name)

    def attention(q, k, v, causal, window=(-1, -1)):
        out, lse, _ = function(q, k, v, causal=causal, window_size=window, return_attn_probs=True)
        return {"out": out, "lse": lse}  # lse: [batch, heads, seqlen]
    return attention


def ring_flash(name):
    attention = ring_flash_attention(name)
    return lambda problem, local: with_gradients(
        lambda q, k, v: attention(q, k, v, problem.causal, problem.window), local)


def ring_flash_packed(name):
    """ring_flash_attn_varlen_func or zigzag_ring_flash_attn_varlen_func: each sequence is dealt to all ranks."""
    import ring_flash_attn
    function = getattr(ring_flash_attn, name)

    def run(problem, local):
        ends = torch.tensor(problem.cu_seqlens, dtype=torch.int32) // asked.RANKS
        longest = int((ends[1:] - ends[:-1]).max())

        def attention(q, k, v):
            out, lse, _ = function(q, k, v, ends, longest, causal=problem.causal, return_attn_probs=True)
            return {"out": out, "lse": lse}
        return with_gradients(attention, {name: x[0] for name, x in local.items()})
    return run


def llama3_packed(problem, local):
    """llama3_flash_attn_varlen_func: keys are gathered, a head at a time."""
    import ring_flash_attn
    ends_q, ends_k, longest_q, longest_k, slice_k = ring_flash_attn.llama3_flash_attn_prepare_cu_seqlens(
        torch.tensor(problem.cu_seqlens, dtype=torch.int32), problem.causal, dist.get_rank(), asked.RANKS)

    def attention(q, k, v):
        out, lse, _ = ring_flash_attn.llama3_flash_attn_varlen_func(
            q, k, v, ends_q, ends_k, longest_q, longest_k, heads_k_stride=1, local_k_slice=slice_k,
            causal=problem.causal, return_attn_probs=True)
        return {"out": out, "lse": lse}
    return with_gradients(attention, {name: x[0] for name, x in local.items()})


def ring_flash_faults(module):
    """Faults of the ring whose module this is, and of the blocks under it."""
    import flash_attn.flash_attn_interface as blocks
    import ring_flash_attn.utils as utils
    update, exchange = module.update_out_and_lse, utils.RingComm.send_recv_kv

    def averaged(out, lse, block_out, block_lse, *slices, **named):
        return update(out, lse, block_out, torch.zeros_like(block_lse), *slices, **named)

    def last_wins(out, lse, block_out, block_lse, *slices, **named):
        return update(None if not slices and not named else out, lse, block_out, block_lse, *slices, **named)

    def keys_twice(self, k, v, *buffers):
        return exchange(self, k, k, *buffers)

    return {"equal weights for all blocks": (module, "update_out_and_lse", averaged),
            "only the last block": (module, "update_out_and_lse", last_wins),
            "keys sent as values": (utils.RingComm, "send_recv_kv", keys_twice),
            "no delta": (blocks, "faults", {"no delta"}),
            "the mask is one late": (blocks, "faults", {"mask one late"})}


# ------------------------------------------------------------------------------ ring-attention-pytorch

def lucidrains_attention(ring, striped=False, bucket_size=20):
    """ring_flash_attn of ring_attention_pytorch: over the ring, or in buckets on one device."""
    from ring_attention_pytorch import ring_flash_attn

    def attention(q, k, v, causal):
        return {"out": ring_flash_attn(q, k, v, causal=causal, bucket_size=bucket_size, ring_reduce_col=ring,
                                       striped_ring_attn=striped)}
    return attention


def lucidrains(ring, striped=False, bucket_size=20):
    attention = lucidrains_attention(ring, striped, bucket_size)

    def run(problem, local):
        torch.set_default_dtype(problem.dtype)  # that of its row sums and maxima
        return with_gradients(lambda q, k, v: attention(q, k, v, problem.causal), local)
    return run
