"""A pytest plugin, and verify for functions that run on the ranks of a torch.distributed job.

    from ringcraft.testing import attention_test
    test_my_ring = attention_test(my_ring, arrays="torch", ranks=4, layout="zigzag", causal=True)
"""
from __future__ import annotations

import pickle
import sys
import threading
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ringcraft import _core
from ringcraft._calls import Caller, Raised, by_name
from ringcraft._verdicts import Verdict, Verification
from ringcraft._verify import Options, examination, examined, require_known, shown

if TYPE_CHECKING:
    import pytest
    from typing_extensions import Unpack

PATIENCE = 30  #: seconds that a rank which has raised waits for the others
_found: list[Verification] = []  # of each test: for the summary


def attention_test(function: Callable[..., Any], **options: Unpack[Options]) -> Any:
    """A test of pytest with one item for each case; the options are those of ringcraft.verify."""
    import pytest

    require_known(options)
    cases, judge = examination(function, **options)
    if not cases:
        raise _core.Error("cases: expected at least one, got none that fits what the function takes; "
                          "a test without cases would pass")
    verdicts: list[Verdict] = []
    _found.append(Verification(getattr(function, "__name__", type(function).__name__), verdicts,
                               noticed=judge.caller.noticed))

    @pytest.mark.parametrize("case", cases, ids=[case.name.replace(" ", "-") for case in cases])
    def test(case: _core.Case) -> None:
        verdict = judge(case)
        verdicts.append(verdict)
        if not verdict.right:
            pytest.fail(verdict.text, pytrace=False)

    return test


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hands what a worker of pytest-xdist has found to the process that reports."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["ringcraft"] = pickle.dumps(_found)


def pytest_configure(config: pytest.Config) -> None:
    if config.pluginmanager.hasplugin("xdist") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Gathering(), "ringcraft-gathering")


class _Gathering:
    """A plugin of the process that reports: it takes what the workers of pytest-xdist have found."""

    def pytest_testnodedown(self, node: Any) -> None:
        found = getattr(node, "workeroutput", {}).get("ringcraft")  # none of a worker that crashed
        for i, theirs in enumerate(pickle.loads(found) if found else []):
            if i == len(_found):  # every worker collects the same tests in the same order
                _found.append(Verification(theirs.name, []))
            _found[i].verdicts.extend(theirs.verdicts)
            _found[i].noticed.add(theirs.noticed)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says which cause the wrong cases of each function have in common, and what else was noticed."""
    for found in _found:
        lines = found.notes()
        if found.cause is not None:
            lines += [f"wrong in {len(found.wrong)} of {len(found.verdicts)} cases; {len(found.agreeing())} of these have one "
                      "cause:", found.cause.sentence, found.cause.question]
        if lines:
            terminalreporter.section(f"ringcraft: {found.name}")
        for line in lines:
            terminalreporter.line(line)


class _RankCaller(Caller):
    """Calls the function with this rank's shards, and collects the results of all ranks on each of them."""
    group: Any = None
    shared = True

    def call(self, case: _core.Case, given: Any) -> dict[str, Any]:
        import torch
        import torch.distributed as dist

        rank = dist.get_rank(self.group)
        rows = torch.as_tensor(case.problem.positions(rank))
        shards = {name: array.index_select(self.axes.index("s"), rows) for name, array in given.items()}
        mine: Any
        try:
            mine = {name: tensor.detach().cpu() for name, tensor in self._local(case, shards).items()}
        except Exception as error:  # the other ranks must hear of it
            mine = str(error) if isinstance(error, Raised) else traceback.format_exc(limit=-3)
            print(f"ringcraft.verify_distributed, {case.name}: rank {rank} raised\n{mine}", file=sys.stderr, flush=True)
        everyone = self._of_everyone(mine, rank)
        for other, result in enumerate(everyone):
            if isinstance(result, str):
                raise Raised(f"on rank {other}:\n{result}")
        return by_name(everyone)

    def _of_everyone(self, mine: Any, rank: int) -> list[Any]:
        """What all ranks have; a rank that has raised does not wait for ever for those that wait for its messages."""
        import torch.distributed as dist

        everyone: list[Any] = [None] * dist.get_world_size(self.group)
        if not isinstance(mine, str):
            dist.all_gather_object(everyone, mine, self.group)
            return everyone
        lost: list[Exception] = []

        def exchange() -> None:
            try:
                dist.all_gather_object(everyone, mine, self.group)
            except Exception as error:
                lost.append(error)

        exchanging = threading.Thread(target=exchange, daemon=True)
        exchanging.start()
        exchanging.join(PATIENCE)
        if lost:
            raise lost[0]
        if exchanging.is_alive():
            raise _core.Error(f"rank {rank}: expected the other ranks after its exception, got none of them within {PATIENCE} s: "
                              "they wait for messages of this one; mend it, or raise on all ranks")
        return everyone

    def once(self, judgement: Callable[[], tuple[bool, str, str]]) -> tuple[bool, str, str]:
        import torch.distributed as dist

        first = 0 if self.group is None else dist.get_global_rank(self.group, 0)
        shared: list[Any] = [None]
        if dist.get_rank(self.group) == 0:
            try:
                shared = [judgement()]
            except _core.Error as error:
                shared = [str(error)]
        dist.broadcast_object_list(shared, first, self.group)
        if isinstance(shared[0], str):
            raise _core.Error(shared[0])
        verdict: tuple[bool, str, str] = shared[0]
        return verdict

    def _local(self, case: _core.Case, shards: dict[str, Any]) -> dict[str, Any]:
        kept, self.shards = self.shards, False  # one rank's results: as those of a whole sequence
        try:
            return super().call(case, shards)
        finally:
            self.shards = kept


def verify_distributed(function: Callable[..., Any], *, group: Any = None, simplify: bool = True,
                       **options: Any) -> Verification:
    """ringcraft.verify for a function that every rank of a torch.distributed job calls with its shard.

    Every rank makes this call with the same options; `layout` says which rows a rank has. Each of them gets the
    verdict on all. Inputs are the same on all ranks, since a case has a seed.
    """
    import torch.distributed as dist

    require_known(options, "simplify")
    caller = type("RankCaller", (_RankCaller,), {"group": group})
    cases, judge = examination(function, arrays="torch", ranks=dist.get_world_size(group), results="shards",
                               caller=caller, **options)
    return examined(function, cases, judge, simplify)


setattr(verify_distributed, "__signature__", shown(verify_distributed, but=("arrays", "ranks", "results")))
