"""PyTorch's attention under masks that are written out: windows pair by pair, packs as sequences that know of no other."""
import torch
from torch.nn.attention.flex_attention import AuxRequest, create_block_mask, flex_attention

from problem import Problem
from programs import with_gradients

TILE = 16  # tokens of a side of a block mask's tiles: empty, full and partial ones occur


def sdpa(problem, own):
    """One sequence with a boolean for every pair of tokens, and its gradients."""
    def attention(q, k, v):
        out = torch.nn.functional.scaled_dot_product_attention(*(x.transpose(1, 2) for x in (q, k, v)),
                                                               attn_mask=problem.visible(), enable_gqa=True)
        return {"out": out.transpose(1, 2)}
    return with_gradients(attention, own)


def flex(problem, own):
    """One sequence with a function of two positions. On a CPU PyTorch has no gradients of it."""
    left, right = problem.reach()

    def sees(_batch, _head, query, key):
        return (key - query >= -left) & (key - query <= right)

    tiles = create_block_mask(sees, None, None, problem.tokens, problem.tokens, device="cpu", BLOCK_SIZE=TILE)
    out, aux = flex_attention(*(own[name].transpose(1, 2) for name in ("q", "k", "v")), block_mask=tiles, enable_gqa=True,
                              return_aux=AuxRequest(lse=True))
    return {"out": out.transpose(1, 2), "lse": aux.lse.transpose(1, 2)}


def each_alone(problem, local, compute):
    """The results of compute(problem, tensors) of each sequence, [batch, seqlen, ...], one after the other."""
    parts = [compute(problem.but(tokens=end - begin, cu_seqlens=()), {name: x[:, begin:end] for name, x in local.items()})
             for begin, end in problem.sequences()]
    return {name: torch.cat([part[name] for part in parts], dim=1) for name in parts[0]}


def one_by_one(attention):
    """A program that runs an attention on each sequence by itself."""
    return lambda problem, local: each_alone(problem, local, attention)


def instead(run, **changes):
    """The same program with another mask than the one that it is asked for."""
    return lambda problem, local: run(problem.but(**changes), local)


def windows():
    """One side, both, the own key alone, one more, wider than the sequence; lengths that no number of ranks divides."""
    for tokens, heads, kv_heads, causal, window in (
            (44, 4, 2, True, (17, 0)), (44, 4, 1, False, (9, 14)), (41, 6, 3, False, (0, 20)), (41, 2, 1, False, (13, -1)),
            (37, 4, 2, True, (0, 0)), (37, 4, 2, True, (1, 0)), (37, 3, 1, True, (500, 0)), (37, 3, 1, False, (500, 500)),
            (5, 4, 2, False, (1, 1))):
        yield Problem(tokens=tokens, batch=1, heads=heads, kv_heads=kv_heads, head_dim=16, causal=causal, window=window)


def packs():
    """Borders on those of 3, 4 and 8 ranks and off them, sequences of one token, one over most ranks; with windows."""
    plain, on, off, ones = (-1, -1), (0, 12, 24, 48), (0, 5, 23, 31, 53), (0, 1, 2, 20, 21, 22, 48)
    across = (0, 3, 45, 48)
    for borders, causal, window in (
            (on, True, plain), (on, False, plain), (off, True, plain), (off, False, plain), (ones, True, plain),
            (ones, False, plain), (across, True, plain), (across, False, plain), ((0, 48), True, plain),
            (on, True, (7, 0)), (off, True, (10, 0)), (ones, True, (1, 0)), (across, False, (6, 9)), (off, False, (3, 20))):
        yield Problem(tokens=borders[-1], batch=1, heads=4, kv_heads=2, head_dim=16, causal=causal, window=window,
                      cu_seqlens=borders)


def other_masks(problem):
    """Masks that are nearly that of the problem: (name, changes, id of the cause; empty, if no sentence is due)."""
    left, right = problem.window
    if 0 < left < problem.tokens:
        yield "a key less to the left", {"window": (left - 1, right)}, "SW1"
    if 0 <= left < problem.tokens - 1:
        yield "a key more to the left", {"window": (left + 1, right)}, "SW-long"
    if 0 < right < problem.tokens:
        yield "a key less to the right", {"window": (left, right - 1)}, "SW-right" if right > 1 else "flags-causal"
    if 0 <= right < problem.tokens - 1 and not problem.causal:
        yield "a key more to the right", {"window": (left, right + 1)}, "" if problem.cu_seqlens else "CM-ahead"
    if len(problem.cu_seqlens) > 2:
        yield "no borders", {"cu_seqlens": ()}, "VL1" if problem.mask() is not None else "CM0"  # then no mask at all
        begin, end = max(problem.sequences(), key=lambda sequence: sequence[1] - sequence[0])
        moved = {begin: begin + 1} if begin > 0 else {end: end - 1}
        yield "a border moved", {"cu_seqlens": tuple(moved.get(border, border) for border in problem.cu_seqlens)}, ""
