"""ring-flash-attn, ring-attention-pytorch and PyTorch's context parallelism on gloo ranks, as ringcraft.verify asks them."""
import types

import ring_attention_pytorch.ring_flash_attention as lucidrains
import ring_flash_attn.ring_flash_attn as contiguous
import ring_flash_attn.stripe_flash_attn as stripe
import ring_flash_attn.utils as utils
import ring_flash_attn.zigzag_ring_flash_attn as zigzag
import torch
import torch.distributed as dist
from torch.distributed.tensor.experimental._context_parallel import _attention as context_parallel

import programs
from questions import ALL, RANKS, SOME, Question, edited

# Limits that all of them share: lengths that the ranks divide twice, no windows and packs in this form, one head_dim.
EVEN = {"axes": "bshd", "multiple": 2 * RANKS, "windows": False, "packed": False, "head_dims": [32]}
OVER_THE_RING = {**EVEN, "layout": "contiguous", "causal": False, "grouped": False}


# ------------------------------------------------------------------------------------------ ring-flash-attn

def ring_flash(name, windows):
    attention = programs.ring_flash_attention(name)

    def windowed(q, k, v, causal, window):
        return {"out": attention(q, k, v, causal, window)["out"]}  # foreign_test.py has lse, too

    def ring(q, k, v, causal):
        return windowed(q, k, v, causal, (-1, -1))
    return windowed if windows else ring


def overflowing(out, lse, block_out, block_lse):
    """The merge of early versions, and of others to this day."""
    block_lse = block_lse.transpose(-2, -1).unsqueeze(dim=-1)
    new = lse + torch.log(1 + torch.exp(block_lse - lse))
    return torch.exp(lse - new) * out + torch.exp(block_lse - new) * block_out.float(), new


def narrow(merge):
    return lambda out, lse, block_out, block_lse: merge(out, lse, block_out, block_lse.bfloat16().float())


def against_the_labels(start):
    def init(self, group):
        start(self, group)
        self.send_rank, self.recv_rank = self.recv_rank, self.send_rank
    return init


def planted(module, causes):
    """The faults that foreign_test.py plants, too, with the ids of their causes."""
    return {name: ([patch], causes[name]) for name, patch in programs.ring_flash_faults(module).items()}


def history():
    """Mistakes of rings of this form that their trackers tell of."""
    forward, backward = contiguous.ring_flash_attn_forward, contiguous.ring_flash_attn_backward
    return {
        "lse + log(1 + exp(difference)) in the merge": ([(utils, "_update_out_and_lse", overflowing)], "MG7"),
        "blocks walk against their labels": (
            [(utils.RingComm, "__init__", against_the_labels(utils.RingComm.__init__))], "RF4"),
        "a causal mask in every block": (
            [(contiguous, forward.__name__, edited(forward, "causal and step == 0", "causal"))], "mask-triangles"),
        "backward keeps its own keys and values": (
            [(contiguous, backward.__name__, edited(backward, "k, v = next_k, next_v", "pass"))], "RB-stale"),
        "dk and dv one hop short of home": (
            [(contiguous, backward.__name__, edited(backward, "next_dk.to(q.dtype), next_dv", "dk.to(q.dtype), dv"))], ""),
    }


CAUSES = {"equal weights for all blocks": "RF7", "only the last block": "RF-anew", "keys sent as values": "",
          "no delta": "BW1", "the mask is one late": "CM-ahead"}


def ring_flash_attn():
    def asked(function, layout, dtype, cause=None, changes=(), **options):
        options = {**EVEN, "layout": layout, "dtype": dtype, **options}
        name = function + (", window_size" if options["windows"] else "" if options.get("gradients", True) else ", forward")
        return Question("ring-flash-attn", name, ring_flash(function, options["windows"]), options, cause,
                        ALL if cause is None else SOME, dict(changes))

    yield asked("ring_flash_attn_func", "contiguous", "bfloat16", changes=planted(contiguous, CAUSES) | history())
    # In both, halves of the rows are merged by another line: rank 1 loses its own block, rank 2 all but the last.
    causes = {**CAUSES, "only the last block": "RF-no-own"}
    yield asked("zigzag_ring_flash_attn_func", "zigzag", "bfloat16", changes=planted(zigzag, causes), causal=True)
    yield asked("stripe_flash_attn_func", "striped", "bfloat16",
                changes=planted(stripe, {**causes, "the mask is one late": "mask-positions"}), causal=True)
    narrowed = {"the lse of a block in bfloat16": (
        [(utils, "_update_out_and_lse", narrow(utils._update_out_and_lse))], "")}
    yield asked("ring_flash_attn_func", "contiguous", "float32", changes=narrowed, gradients=False)
    # It is for half types: there .to(torch.float32) copies, in float32 the next block overwrites the sums of gradients.
    yield asked("ring_flash_attn_func", "contiguous", "float32", "")
    yield asked("zigzag_ring_flash_attn_func", "zigzag", "float32", "", causal=True)
    # Each block is cut to the window as if its keys were the query's own; its README says so.
    yield asked("ring_flash_attn_func", "contiguous", "bfloat16", "", windows=True)


# ------------------------------------------------------------------------------- ring-attention-pytorch

def over_the_ring(q, k, v, causal):
    return programs.lucidrains_attention(ring=True, bucket_size=q.shape[1])(q, k, v, causal)


def ring_attention_pytorch():
    def asked(name, cause, changes=(), **options):
        return Question("ring-attention-pytorch", name, over_the_ring, {**OVER_THE_RING, **options}, cause,
                        changes=dict(changes))

    function = lucidrains.RingFlashAttentionFunction
    mended = edited(function.backward, "dkv = ring_pass(", "dkv, _ = ring_pass(")
    yield asked("ring_flash_attn, forward", None, gradients=False)
    yield asked("ring_flash_attn, causal, forward", None, gradients=False, causal=True)
    # ring_pass returns the received tensor and the sent one, which are taken for dk and dv.
    yield asked("ring_flash_attn", "", {"that one line mended": ([(function, "backward", staticmethod(mended))], None)})
    # Query head h takes key head h modulo kv_heads; elsewhere it is h divided by the size of a group.
    yield asked("ring_flash_attn, grouped heads", "GQ1", gradients=False, grouped=True)


# ----------------------------------------------------------------------------------------------- PyTorch

def by_hand(balanced):
    """The ring under context_parallel, forward and backward, as the dispatcher calls it."""
    run = programs.torch_ring(balanced)

    def answers(names, q, k, v, dout, causal):
        found = run(types.SimpleNamespace(causal=causal), {"q": q, "k": k, "v": v, "dout": dout})
        return {name: found[name].transpose(1, 2) for name in names}

    def forward(q, k, v, causal):
        return answers(("out", "lse"), q, k, v, torch.zeros_like(q), causal)

    def backward(q, k, v, dout, causal):
        return answers(("dq", "dk", "dv"), q, k, v, dout, causal)
    return forward, backward


def torch_distributed():
    merger = context_parallel._SDPAMerger
    for balanced, layout in ((False, "contiguous"), (True, "zigzag")):
        forward, backward = by_hand(balanced)
        options = {**EVEN, "layout": layout, "grouped": False, "backward": backward}
        if balanced:
            options["causal"] = True
        # out - sigmoid(...) * (out - block_out) leaves few digits of a block_out that is far smaller than out before it.
        mended = edited(merger._merge_one, "out = out - F.sigmoid(block_lse - lse) * (out - block_out)",
                        "out = F.sigmoid(lse - block_lse) * out + F.sigmoid(block_lse - lse) * block_out")
        changes = {"that one line mended": ([(merger, "_merge_one", mended)], None)}
        for name, patch in programs.torch_ring_faults().items():
            changes[name] = [patch], {"gradients of blocks stay where they are": "RB1"}.get(name, "")
        yield Question("torch", "_templated_ring_attention" + (", load balance" if balanced else ""), forward, options, "",
                       changes=changes)


def questions():
    yield from ring_flash_attn()
    yield from ring_attention_pytorch()
    yield from torch_distributed()
