"""Admin operations beside the faults: whoever ends a run by dying is the one that is reported."""

import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from checkers.history.operations import OperationType
from harness.errors import EngineError, KrucibleError
from harness.faults.contract import Bench
from harness.kafka.sizes import TopicSizes
from harness.nemesis.operator import Operator, Performed
from harness.nemesis.timed import TimedError
from harness.nemesis.timed_operations import TimedOperations
from harness.observers.view import ClusterView
from harness.record.journal import Clock, Journals
from harness.run import execution as module
from harness.run.execution import Execution
from harness.vocabulary import AlterTopic, FixedSchedule, Kill, LogWorkload, TimedOperation, Topology
from harness.vocabulary.scenario import Step
from harness.workloads.deleting import Deletions
from harness.workloads.worker import WorkloadError

ACT = TimedOperation(0, AlterTopic("t", "retention.ms", "5"))
LOAD_DIED = WorkloadError("worker producer-1 died")
BOUND_S = 30.0


class Performing:
    """An operator that does what the test says."""

    def __init__(self, do: Callable[[], Performed]) -> None:
        self._do = do

    def perform(self, *_: Any) -> Performed:
        return self._do()


def acting(do: Callable[[], Performed]) -> TimedOperations:
    made = TimedOperations(cast("Operator", Performing(do)), (ACT, ACT), Clock())
    made.start()
    return made


def raising(error: Exception) -> Callable[[], Performed]:
    def do() -> Performed:
        raise error

    return do


def test_operations_that_are_performed_are_nothing_to_report() -> None:
    made = acting(lambda: Performed(OperationType.OK))
    made.join(BOUND_S)
    made.check()
    made.end(BOUND_S)
    assert made.performed == [OperationType.OK, OperationType.OK]


def test_a_death_of_its_own_is_reported_as_its_own() -> None:
    made = acting(raising(LookupError("there is no broker 4")))
    with pytest.raises(TimedError, match="performing admin operations") as caught:
        made.end(BOUND_S)
    assert caught.value.got == "LookupError: there is no broker 4"
    assert caught.value.expected == "2 operations, 0 were done"


def test_what_ended_it_from_outside_is_reported_as_it_is() -> None:
    made = acting(raising(LOAD_DIED))
    made.join(BOUND_S)
    with pytest.raises(WorkloadError) as caught:
        made.check()
    assert caught.value is LOAD_DIED


def test_an_operation_without_an_end_is_reported() -> None:
    let_go = threading.Event()

    def hang() -> Performed:
        let_go.wait(BOUND_S)
        return Performed(OperationType.INFO)

    made = acting(hang)
    with pytest.raises(TimedError) as caught:
        made.end(0.0)
    let_go.set()
    made.join(BOUND_S)
    assert caught.value.got == "operation 1 of 2 is still in progress"


class Rig:
    """A execution on a stage of paper, of which one fault is asked after the only act has been performed."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, do: Callable[[], Performed]) -> None:
        ended = threading.Event()

        def perform() -> Performed:
            try:
                return do()
            finally:
                ended.set()

        class Standing(Operator):
            def perform(self, *_: Any) -> Performed:
                return perform()

        def activate(*_: Any) -> Any:
            raise AssertionError("a fault is begun although the operations have ended")

        nodes = Topology().nodes()
        self.journals = Journals(folder, "abc", Clock())
        stage = SimpleNamespace(
            journals=self.journals,
            ledger=None,
            cluster=SimpleNamespace(nodes=nodes),
            topics=[SimpleNamespace(name="t", partitions=())],
            sizes=TopicSizes(),
            plan=SimpleNamespace(scenario=SimpleNamespace(workload=LogWorkload())),
        )
        monkeypatch.setattr(module, "bench_of", lambda _: cast("Bench", None))
        monkeypatch.setattr(module, "Operator", Standing)
        monkeypatch.setattr("harness.nemesis.nemesis.activate", activate)
        cancelled = threading.Event()
        deletions = cast("Deletions", None)
        self.execution = Execution(cast("Any", stage), ClusterView(), lambda: None, cancelled, deletions)
        await_moment = self.execution.nemesis._await

        def once_performed(moment_ns: int) -> None:
            ended.wait(BOUND_S)
            (acting,) = self.execution._beside
            assert acting is not None
            acting.join(BOUND_S)
            await_moment(moment_ns)

        monkeypatch.setattr(self.execution.nemesis, "_await", once_performed)

    def carry_out(self, *steps: Step) -> None:
        try:
            self.execution.carry_out(FixedSchedule(steps=steps, duration_ms=2, acts=(ACT,)))
        finally:
            self.journals.close()


@pytest.mark.parametrize("steps", [(), (Step(1, 60_000, Kill()),)])
def test_a_schedule_ends_with_the_error_of_its_operations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: tuple[Step, ...]
) -> None:
    rig = Rig(tmp_path, monkeypatch, raising(LookupError("there is no broker 4")))
    with pytest.raises(TimedError, match="performing admin operations"):
        rig.carry_out(*steps)


def test_a_schedule_reports_what_ended_it_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = Rig(tmp_path, monkeypatch, raising(LookupError("there is no broker 4")))

    def refuse(*_: Any) -> None:
        raise EngineError("the engine is gone")

    monkeypatch.setattr(rig.execution.nemesis, "carry_out", refuse)
    with pytest.raises(KrucibleError, match="the engine is gone"):
        rig.carry_out()
