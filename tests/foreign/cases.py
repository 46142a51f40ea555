"""Which program is asked what, and what verify must say of the answer."""
from dataclasses import dataclass

import torch
from torch.nn.attention import SDPBackend

import masked
import programs
from problem import Problem

FEW = ("dk times 1.02", "out a row its neighbour's")  # of wrong claims, where each takes a while
BFLOAT16, FLOAT16 = torch.bfloat16, torch.float16


@dataclass
class Case:
    name: str
    run: object                  # see programs.py
    problem: Problem
    layout: str = "contiguous"
    fault: tuple = ()            # what is planted: owner, name, replacement
    wrong: tuple = ()            # the tensors that are wrong; none: the program is right
    at_least: bool = False       # other tensors may be wrong, too
    tampered: tuple = ()         # which wrong claims are made of it; all, if empty
    doubtful: tuple = ()         # tensors that are wrong by so little that either verdict is true
    cause: str = ""              # the id of the first cause that is to be named, if one is


def planted(case, faults):
    """The same program with each fault. Which tensors that touches is the program's affair; out or dq, always."""
    for name, fault in faults.items():
        yield Case(f"{case.name}, {name}", case.run, case.problem, case.layout, fault, wrong=("some",), at_least=True)


def some(problem):
    return FEW if problem.tokens > 100 else ()


def torch_on_one_device():
    backends = {"flash": programs.torch_sdpa(SDPBackend.FLASH_ATTENTION), "math": programs.torch_sdpa(SDPBackend.MATH)}
    problems = [Problem(tokens=tokens, heads=2, kv_heads=1, batch=1, head_dim=head_dim, causal=causal, window=window,
                        scale_of_q=scale)
                for tokens, head_dim, causal, window, scale in (
                    (64, 32, True, (-1, -1), 1), (250, 64, False, (-1, -1), 1), (250, 128, True, (-1, -1), 4),
                    (250, 256, True, (-1, -1), 0.05), (1000, 64, True, (40, 0), 1), (1024, 128, False, (20, 30), 4))]
    for dtype in (torch.float64, *programs.TYPES):
        for problem in (each.but(dtype=dtype) for each in problems):
            for backend, run in backends.items():
                yield Case(f"scaled_dot_product_attention ({backend})", run, problem, tampered=some(problem))
            yield Case("softmax(q k^T) v", programs.naive, problem, tampered=some(problem))
    for dtype, tokens in ((torch.float32, 4096), (FLOAT16, 4096), (BFLOAT16, 16384)):
        yield Case("scaled_dot_product_attention (flash)", backends["flash"],
                   Problem(dtype=dtype, tokens=tokens, batch=1, heads=1, kv_heads=1), tampered=FEW)


def torch_under_masks():
    attentions = {"scaled_dot_product_attention": masked.one_by_one(masked.sdpa),
                  "flex_attention": masked.one_by_one(masked.flex)}
    for dtype, misled in ((torch.float64, "scaled_dot_product_attention"), (torch.float32, "flex_attention")):
        for problem in (each.but(dtype=dtype) for each in (*masked.windows(), *masked.packs())):
            for name, run in attentions.items():
                # A query that sees itself alone has no gradient, and neither has its key: 0 times 1.02 is not wrong.
                yield Case(name, run, problem, tampered=FEW[1:] if problem.window == (0, 0) else FEW)
            for other, changes, cause in masked.other_masks(problem):
                yield Case(f"{misled}, {other}", masked.instead(attentions[misled], **changes), problem, wrong=("some",),
                           at_least=True, cause=cause)


def torch_over_gathered_keys():
    causal = Problem(tokens=90, batch=1, head_dim=32)
    window = causal.but(window=(20, 0))
    for dtype in (torch.float64, *programs.TYPES):
        # The corner of the keys at which a mask is aligned; keys from the first window on, or all before.
        for problem, layout, corner, near, cause in (
                (causal, "contiguous", "lower right", False, ""), (causal, "contiguous", "upper left", False, "CM-local-rows"),
                (causal, "zigzag", "lower right", False, "mask-aligned"), (causal, "zigzag", "upper left", False, "CM-local-rows"),
                (window, "contiguous", "lower right", True, ""), (window, "contiguous", "upper left", True, "mask-aligned"),
                (window, "contiguous", "upper left", False, "CM-local-rows")):
            yield Case(f"scaled_dot_product_attention, {corner}", programs.torch_gathered(layout, corner, near),
                       problem.but(dtype=dtype), layout, wrong=("out", "dq", "dk", "dv") if cause else (), tampered=FEW,
                       cause=cause)


def torch_context_parallel():
    for dtype in programs.TYPES:
        for balanced, layout in ((False, "contiguous"), (True, "zigzag")):
            ring = Case("ring of torch.distributed" + (" with load balance" if balanced else ""),
                        programs.torch_ring(balanced), Problem(dtype=dtype, kv_heads=4), layout)
            yield ring
            yield from planted(ring, programs.torch_ring_faults())
        yield Case("ring of torch.distributed", programs.torch_ring(False), Problem(dtype=dtype, kv_heads=4, causal=False))


def ring_flash_attn():
    import ring_flash_attn.ring_flash_attn as contiguous
    import ring_flash_attn.stripe_flash_attn as stripe
    import ring_flash_attn.zigzag_ring_flash_attn as zigzag
    packed = Problem(batch=1, cu_seqlens=(0, 24, 150, 180))
    for dtype in programs.TYPES:
        # flash-attn has no float32, and neither has this: there .to(torch.float32) copies nothing, and the next block
        # overwrites the sum of those before.
        overwritten = ("dq", "dk", "dv") if dtype == torch.float32 else ()
        # Rows that are not zigzag: return dq.to(torch.bfloat16), whatever q is. In float16 that is a precision too low,
        # near the bar.
        narrow = ("dq",) if dtype == FLOAT16 else ()
        ring = Case("ring_flash_attn_func", programs.ring_flash("ring_flash_attn_func"), Problem(dtype=dtype),
                    wrong=overwritten, doubtful=narrow)
        yield ring
        yield Case(ring.name, ring.run, Problem(dtype=dtype, causal=False), wrong=overwritten, doubtful=narrow)
        # Each block is cut to the window as if its keys were the query's own.
        yield Case(f"{ring.name} with a window", ring.run, Problem(dtype=dtype, window=(40, 0)),
                   wrong=("out", "lse", "dq", "dk", "dv"))
        others = [Case(name, programs.ring_flash(name), Problem(dtype=dtype), layout, wrong=overwritten)
                  for name, layout in (("zigzag_ring_flash_attn_func", "zigzag"), ("stripe_flash_attn_func", "striped"))]
        yield from others
        if dtype != torch.float32:
            for case, module in zip((ring, *others), (contiguous, zigzag, stripe)):
                yield from planted(case, programs.ring_flash_faults(module))
        yield Case("llama3_flash_attn_varlen_func", programs.llama3_packed, packed.but(dtype=dtype))
        for name, layout, near in (("zigzag_ring_flash_attn_varlen_func", "zigzag", ()),
                                   ("ring_flash_attn_varlen_func", "each sequence contiguous", narrow)):
            yield Case(name, programs.ring_flash_packed(name), packed.but(dtype=dtype), layout, wrong=overwritten,
                       doubtful=near)


def ring_attention_pytorch():
    # Its gradients of keys and values add up to one tensor on their way: dk, dv = (received, sent).
    lost = ("dk", "dv")
    for dtype in programs.WIDE_TYPES:  # in half precision it refuses the product of its weights and the values
        problem = Problem(dtype=dtype, kv_heads=4)
        # A block that no row sees adds 1e-10 to its sum: block_row_sums.clamp(min = EPSILON).
        masked = ("out", "dq", *lost) if dtype == torch.float64 else lost
        yield Case("ring_flash_attn over the ring", programs.lucidrains(True), problem, wrong=masked)
        yield Case("ring_flash_attn over the ring", programs.lucidrains(True), problem.but(causal=False), wrong=lost)
        yield Case("ring_flash_attn over the ring, striped", programs.lucidrains(True, striped=True, bucket_size=60),
                   problem, "striped", wrong=masked)
        # Query head h takes key head h modulo kv_heads; elsewhere it is h divided by the size of a group.
        yield Case("ring_flash_attn over the ring, grouped heads", programs.lucidrains(True), problem.but(kv_heads=2),
                   wrong=("out", "dq", *lost))


def ring_attention_pytorch_on_one_device():
    for dtype in programs.WIDE_TYPES:
        problem = Problem(dtype=dtype, kv_heads=4)
        masked = ("out", "dq", "dk", "dv") if dtype == torch.float64 else ()  # see above
        yield Case("ring_flash_attn in buckets", programs.lucidrains(False), problem, wrong=masked)
        yield Case("ring_flash_attn in buckets", programs.lucidrains(False), problem.but(causal=False))


# Cases on one device, and cases on three ranks.
PROGRAMS = {"torch": (1, torch_on_one_device), "torch-masks": (1, torch_under_masks),
            "torch-gathered": (3, torch_over_gathered_keys), "torch-ring": (3, torch_context_parallel), "ring-flash-attn": (3, ring_flash_attn),
            "ring-attention-pytorch": (3, ring_attention_pytorch),
            "ring-attention-pytorch-buckets": (1, ring_attention_pytorch_on_one_device)}
