"""A pytest plugin, and verify for functions that run on the ranks of a torch.distributed job.

    from ringcraft.testing import attention_test
    test_my_ring = attention_test(my_ring, arrays="torch", ranks=4, layout="zigzag", causal=True)
"""
from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ringcraft import _core
from ringcraft._calls import Caller, Raised, by_name
from ringcraft._verdicts import Verdict, Verification
from ringcraft._verify import Options, examination, examined, require_known

if TYPE_CHECKING:
    import pytest
    from typing_extensions import Unpack

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

    def call(self, case: _core.Case, given: Any) -> dict[str, Any]:
        import torch
        import torch.distributed as dist

        rows = torch.tensor(case.problem.positions(dist.get_rank(self.group)), dtype=torch.int64)
        shards = {name: array.index_select(self.axes.index("s"), rows) for name, array in given.items()}
        mine: Any
        try:
            mine = {name: tensor.detach().cpu() for name, tensor in self._local(case, shards).items()}
        except Exception as error:  # the other ranks must hear of it
            mine = str(error) if isinstance(error, Raised) else traceback.format_exc(limit=-3)
        everyone: list[Any] = [None] * case.problem.ranks
        dist.all_gather_object(everyone, mine, self.group)
        for rank, other in enumerate(everyone):
            if isinstance(other, str):
                raise Raised(f"on rank {rank}:\n{other}")
        return by_name(everyone)

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
