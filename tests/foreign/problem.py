"""The request to a foreign program: the problem, its random inputs, and which rows each rank holds."""
from dataclasses import dataclass, replace

import torch

RANKS = 3


@dataclass(frozen=True)
class Problem:
    """Attention with a mask. Lengths are divisible by 2 * RANKS wherever a program needs that."""
    dtype: torch.dtype = torch.float32
    tokens: int = 180
    batch: int = 2
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 64
    causal: bool = True
    window: tuple = (-1, -1)  # keys to the left and to the right, as flash-attn counts
    cu_seqlens: tuple = ()    # packed sequences: batch is 1
    scale_of_q: float = 1.0

    def but(self, **changes):
        return replace(self, **changes)

    def __str__(self):
        mask = "causal" if self.causal else "full"
        if self.window != (-1, -1):
            mask += f" window {self.window[0]},{self.window[1]}"
        if self.cu_seqlens:
            mask += f", cu_seqlens {','.join(map(str, self.cu_seqlens))}"
        return (f"{str(self.dtype).removeprefix('torch.')}, {self.tokens} tokens, {self.heads}/{self.kv_heads} heads, "
                f"head_dim {self.head_dim}, {mask}, q x {self.scale_of_q:g}")

    def flags(self):
        """The mask, as verify is told."""
        flags = ["--causal"] if self.causal else []
        if self.window != (-1, -1):
            flags += ["--window-size", f"{self.window[0]},{self.window[1]}"]
        if self.cu_seqlens:
            flags += ["--cu-seqlens", ",".join(map(str, self.cu_seqlens))]
        return flags

    def inputs(self):
        """q, k, v, dout as [batch, seqlen, heads, head_dim], the same on every rank."""
        random = torch.Generator().manual_seed(20)
        sizes = {"q": self.heads, "k": self.kv_heads, "v": self.kv_heads, "dout": self.heads}
        tensors = {name: torch.randn(self.batch, self.tokens, heads, self.head_dim, generator=random)
                   for name, heads in sizes.items()}
        tensors["q"] *= self.scale_of_q
        return {name: tensor.to(self.dtype) for name, tensor in tensors.items()}

    def sequences(self):
        """The first token of each sequence, and the one past its last."""
        ends = self.cu_seqlens or (0, self.tokens)
        return list(zip(ends, ends[1:]))

    def reach(self):
        """How many tokens to its left and to its right a query sees; as many as there are, without a limit."""
        left, right = self.window[0], 0 if self.causal else self.window[1]
        return left if left >= 0 else self.tokens, right if right >= 0 else self.tokens

    def visible(self):
        """Which keys each query sees in one sequence of all tokens, [seqlen, seqlen]."""
        distance = torch.arange(self.tokens)[None, :] - torch.arange(self.tokens)[:, None]
        left, right = self.reach()
        return (distance >= -left) & (distance <= right)

    def mask(self):
        """The same, or None for all."""
        return None if not self.causal and self.window == (-1, -1) else self.visible()


def rows_of(layout, problem, rank):
    """The tokens that a rank holds, in the order in which it holds them."""
    tokens = torch.arange(problem.tokens)
    if layout == "contiguous":
        return tokens.chunk(RANKS)[rank]
    if layout == "striped":
        return tokens[rank::RANKS]
    sequences = [tokens[begin:end] for begin, end in problem.sequences()]
    if layout == "each sequence contiguous":
        return torch.cat([sequence.chunk(RANKS)[rank] for sequence in sequences])
    if layout == "zigzag":
        return torch.cat([sequence.chunk(2 * RANKS)[i] for sequence in sequences for i in (rank, 2 * RANKS - 1 - rank)])
    raise ValueError(layout)
