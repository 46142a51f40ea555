"""Methods on machines that are not there."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ringcraft import _core
from ringcraft._arrays import mask_of, require_truths
from ringcraft._attention import Costs, Window


@dataclass(frozen=True)
class Simulation:
    """Costs of a simulated run, on virtual time."""
    forward: Costs
    backward: Costs | None
    lanes: list[list[tuple[str, float, float]]] | None  #: for each rank (activity, begin, end), if it was asked for

    @property
    def seconds(self) -> float:
        """Of both passes."""
        return self.forward.seconds + (self.backward.seconds if self.backward else 0.0)


def simulate(*, ranks: int, tokens: int, method: str = "ring", heads: int = 32, kv_heads: int = 8, head_dim: int = 128,
             batch: int = 1, layout: str = "zigzag", causal: bool = True, window: Window = None,
             cu_seqlens: Sequence[int] | None = None, machine: str | _core.Machine = "8xH100", ulysses: int = 0,
             gather_heads: int = 0, node: int = 0, schedule: str = "", backward: bool = True, trace: bool = False,
             slow_links: Sequence[tuple[int, int, float]] = (),
             slow_ranks: Sequence[tuple[int, float]] = ()) -> Simulation:
    """Runs the very functions of a method on simulated ranks, links and memory.

    machine: a name, see machines(), or a Machine. slow_links: (rank, rank, factor); slow_ranks: (rank, factor). A
    double ring has the nodes of the machine unless `node` says otherwise.
    """
    require_truths(backward=backward, trace=trace)
    if not isinstance(method, str):
        raise _core.Error(f"method: expected a name, got {type(method).__name__}; see ringcraft.methods()")
    problem = _core.Problem(tokens, heads, head_dim, kv_heads=kv_heads, batch=batch,
                            mask=mask_of(causal, window, cu_seqlens), ranks=ranks, layout=layout)
    if isinstance(machine, str):
        machine = _core.Machine.named(machine)
    if not isinstance(machine, _core.Machine):
        raise _core.Error(f"machine: expected a name or a ringcraft.Machine, got {machine!r}; see ringcraft.machines()")
    if method == "double-ring" and node == 0:
        node = min(machine.ranks_per_node, ranks)
    choice = _core.Method(method, ulysses=ulysses, gather_heads=gather_heads, node=node, schedule=schedule)
    result = _core.simulate(problem, choice, machine.slowed(slow_links, slow_ranks), backward, trace)
    return Simulation(Costs.of(result["forward"]), Costs.of(result["backward"]) if backward else None,
                      result.get("lanes"))
