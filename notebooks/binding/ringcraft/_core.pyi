"""Ring attention and its harness, in C++."""

from collections.abc import Sequence
from typing import Any

import numpy


class Error(ValueError):
    """Any failure of ringcraft: what was expected, what came, what to try."""

def processor() -> str:
    """The processors that the attention kernels in use were compiled for."""

class Mask:
    """
    Which keys a query sees: those from `left` before it to `right` after it, in its own sequence.

    None is no limit: causal is Mask(None, 0). cu_seqlens: [sequences + 1], the borders of packed sequences.
    """

    def __init__(self, left: int | None = None, right: int | None = None, cu_seqlens: Sequence[int] | None = None) -> None: ...

    @property
    def left(self) -> int | None:
        """How many keys before it a query sees, besides its own; None: all."""

    @property
    def right(self) -> int | None:
        """How many keys after it a query sees; None: all."""

    @property
    def cu_seqlens(self) -> list[int]:
        """
        [sequences + 1]: where packed sequences begin, from 0 to seqlen; empty: one sequence.
        """

    def __repr__(self) -> str: ...

    def __eq__(self, arg: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    def __getstate__(self) -> tuple[int | None, int | None, tuple[int, ...]]: ...

    def __setstate__(self, arg: tuple[int | None, int | None, tuple[int, ...]], /) -> None: ...

class Problem:
    """
    One attention problem, dealt to ranks: shapes, mask, layout and scale.

    q [batch, heads, seqlen, head_dim]; k, v [batch, kv_heads, seqlen, head_dim]. kv_heads divides heads, which it is by default. softmax_scale is 1 / sqrt(head_dim) by default.
    """

    def __init__(self, seqlen: int, heads: int, head_dim: int, *, kv_heads: int | None = None, batch: int = 1, mask: Mask | None = None, ranks: int = 1, layout: str = 'contiguous', per_sequence: bool = False, softmax_scale: float | None = None) -> None: ...

    @property
    def seqlen(self) -> int:
        """Tokens of the whole sequence."""

    @property
    def heads(self) -> int:
        """Heads of q."""

    @property
    def kv_heads(self) -> int:
        """Heads of k and v."""

    @property
    def head_dim(self) -> int:
        """Numbers of one token in one head."""

    @property
    def batch(self) -> int:
        """Sequences computed at once, all with this mask."""

    @property
    def mask(self) -> Mask:
        """Which keys a query sees."""

    @property
    def ranks(self) -> int:
        """How many ranks share the sequence."""

    @property
    def layout(self) -> str:
        """Which tokens a rank has: a name of ringcraft.layouts()."""

    @property
    def per_sequence(self) -> bool:
        """Whether each packed sequence is dealt to the ranks by itself."""

    @property
    def softmax_scale(self) -> float:
        """The factor of the scores."""

    def positions(self, rank: int) -> numpy.ndarray:
        """
        [rows]: the positions of a rank's rows in the whole sequence, increasing.
        """

    def rows(self, rank: int) -> int:
        """How many rows a rank has."""

    def owner_of(self, position: int) -> int:
        """The rank that owns this position."""

    def keys_seen(self, position: int) -> tuple[int, int]:
        """
        The keys that the query at this position sees: (first, one past the last), as positions.
        """

    def key_ranges(self, rank: int, source: int) -> tuple[list[int], list[int]]:
        """
        For each row of `rank` the local keys of `source` that it sees: (begins, ends), each [rows].
        """

    def hops(self) -> int:
        """How often a ring passes its KV blocks on."""

    def __repr__(self) -> str: ...

    def __eq__(self, arg: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    def __getstate__(self) -> tuple[int, int, int, int, int, Mask, int, str, bool, float]: ...

    def __setstate__(self, arg: tuple[int, int, int, int, int, Mask, int, str, bool, float], /) -> None: ...

class Case:
    """
    A problem with a recipe for its inputs.

    data, the distribution of the scores: normal, hot, negative, gap, peaked or huge. Equal seeds make equal inputs.
    """

    def __init__(self, problem: Problem, data: str = 'normal', seed: int = 1) -> None: ...

    @property
    def name(self) -> str:
        """All of it in a line."""

    @property
    def problem(self) -> Problem:
        """Shapes, mask and ranks."""

    @property
    def data(self) -> str:
        """The distribution of the scores."""

    @property
    def seed(self) -> int:
        """That of the random numbers."""

    def inputs(self, wide: bool = False) -> dict[str, Any]:
        """
        q, dout [batch, heads, seqlen, head_dim]; k, v [batch, kv_heads, seqlen, head_dim]. wide: in float64.
        """

    def __repr__(self) -> str: ...

    def __eq__(self, arg: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    def __getstate__(self) -> tuple[Problem, str, int]: ...

    def __setstate__(self, arg: tuple[Problem, str, int], /) -> None: ...

def case_table(full: bool = False) -> list[Case]:
    """The table of cases that every implementation of this library runs."""

def layouts() -> list[str]:
    """Names of the ways to deal tokens to ranks."""

def forward(problem: Problem, q: object, k: object, v: object, axes: str = 'bhsd', threads: int | None = None) -> tuple[Any, Any]:
    """out and lse of attention on one device."""

def backward(problem: Problem, q: object, k: object, v: object, out: object, lse: object, dout: object, axes: str = 'bhsd', threads: int | None = None) -> tuple[Any, Any, Any]:
    """dq, dk and dv of sum(out * dout)."""

def read_at(array: object, axes: str = 'bhsd') -> int:
    """
    The address that the library reads this array at: its own, unless it is copied.
    """

def require_axes(axes: str) -> None:
    """Raises Error unless these are axes of a tensor."""

def oracle(problem: Problem, q: object, k: object, v: object, dout: object | None = None, axes: str = 'bhsd') -> tuple[dict[str, Any], dict[str, Any]]:
    """What is right, in float64, and the scale of each element: two dicts."""

class Method:
    """A method with its options."""

    def __init__(self, method: str = 'ring', *, ulysses: int = 0, gather_heads: int = 0, node: int = 0, schedule: str = '') -> None: ...

    @property
    def name(self) -> str:
        """That of ringcraft.methods()."""

    def __repr__(self) -> str: ...

class Recorded:
    """What every rank of a run did when."""

    def is_right(self) -> bool:
        """
        Whether the schedule is proved: messages meet, every pair is computed once, every sum comes home.
        """

    def report(self) -> str:
        """The proof in words, a line for each claim."""

    def text(self) -> str:
        """The trace as a file that ui.perfetto.dev draws."""

    def lanes(self, virtual_time: bool = False) -> list[list[tuple[str, float, float]]]:
        """For each rank a list of (activity, begin, end), in seconds."""

def attend(problem: Problem, q: object, k: object, v: object, dout: object | None = None, axes: str = 'bhsd', method: Method = ..., threads: int = 1, trace: bool = False, seconds_per_pair: float = 0.0, seconds_per_message: float = 0.0, seconds_per_byte: float = 0.0) -> dict[str, Any]:
    """A method on thread ranks, with its costs."""

def methods() -> list[str]:
    """Names of the ways to attend over ranks."""

def judge(problem: Problem, q: object, k: object, v: object, dout: object | None, claim: dict[str, Any], known_ranks: bool = False, dtype: str | None = None, tf32: bool = False, sequence_order: bool = True, title: str = 'claim', refuted: Sequence[str] = [], no_numbers_tell: bool = False, lse_dtype: str | None = None, causes: bool = True, derived: bool = False) -> tuple[bool, str, str]:
    """
    Judges arrays by the oracle and looks for the mistake, but for causes with the refuted ids: (right, text, JSON). derived: the gradients are known to be the derivative of out.
    """

def refuted_mistakes(problem: Problem, q: object, k: object, v: object, dout: object | None, claim: dict[str, Any], ids: Sequence[str], dtype: str) -> list[str]:
    """
    Those of these ids of causes that a claim refutes, or, if it is empty, a right one: every known mistake with the id gives plainly other numbers.
    """

def is_general(id: str) -> bool:
    """
    Whether the cause with this id says which numbers are wrong rather than by which mistake.
    """

class Machine:
    """A cluster of equal nodes, for simulations."""

    def __init__(self, name: str, *, ranks_per_node: int, peak_flops: float, efficiency: float, inside_latency: float, inside_bandwidth: float, between_latency: float, between_bandwidth: float, element_bytes: int = 2, accumulator_bytes: int = 4) -> None:
        """
        Latencies in seconds, bandwidths in bytes per second, FLOP per second of a rank.
        """

    @staticmethod
    def named(name: str) -> Machine:
        """A machine that the library knows: a name of ringcraft.machines()."""

    def slowed(self, links: Sequence[tuple[int, int, float]] = (), ranks: Sequence[tuple[int, float]] = ()) -> Machine:
        """
        The same with slow links (rank, rank, factor) and slow ranks (rank, factor).
        """

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def ranks_per_node(self) -> int:
        """Ranks that share the fast links of a node."""

    def __repr__(self) -> str: ...

def machines() -> list[str]:
    """Names of the machines that the library knows."""

def simulate(problem: Problem, method: Method, machine: Machine, backward: bool = True, trace: bool = False) -> dict[str, Any]:
    """A method on a machine that is not there."""

class Saved:
    """What a forward pass leaves for the backward pass."""

class Rank:
    """One rank of a job whose messages Python sends."""

    def __init__(self, rank: int, world_size: int, start: object, wait: object, threads: int = 1) -> None: ...

    def forward(self, problem: Problem, method: Method, q: object, k: object, v: object, axes: str = 'bhsd') -> tuple[Any, Any, Saved]:
        """This rank's out and lse, and what the backward pass needs."""

    def backward(self, saved: Saved, dout: object, axes: str = 'bhsd') -> tuple[Any, Any, Any]:
        """This rank's dq, dk and dv."""
