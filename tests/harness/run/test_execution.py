"""What the nemesis knows of the cluster: the latest of each broker, and who was out of sync since when."""

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import create_autospec

import pytest

from checkers.history.observed import PartitionAnswer
from checkers.history.operations import OperationType
from harness.errors import EngineError
from harness.faults.contract import Bench
from harness.kafka.answers import QuorumAnswer, TopicAnswer
from harness.kafka.sizes import TopicSize, TopicSizes
from harness.kafka.wire import WireError
from harness.nemesis.operator import Operator
from harness.observers.view import FRESH_S, ClusterView
from harness.record.harness_failures import HarnessFailures
from harness.record.journal import Clock, JournalError, Journals
from harness.record.ledger import Ledger, pending_undos, read_ledger
from harness.run import execution as module
from harness.run.execution import Execution, heal_faults
from harness.vocabulary import FixedSchedule, Kill, LogWorkload, Pause, Step, Topology, broker
from harness.workloads.deleting import Deletions
from tests.harness.recorded import recorded
from tests.harness.run.stages import a_stage, an_execution
from tests.harness.snapshots import seen


def topic_answers(*isr: int) -> dict[str, TopicAnswer]:
    return {"t": TopicAnswer("t", "id", 0, (PartitionAnswer(0, isr[0], 4, (1, 2, 3), isr, None),))}


class Time:
    """A clock that stands still until it is moved."""

    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_who_was_reported_to_be_out_of_sync_is_remembered() -> None:
    view = ClusterView()
    assert (seen(view).answers, seen(view).out_of_sync) == (0, {})
    view.saw_topics("n1", topic_answers(1, 2, 3))
    view.saw_topics("n2", topic_answers(1, 2))
    view.saw_topics("n1", topic_answers(1))
    view.saw_topics("n2", topic_answers(1, 3, 2))
    assert (seen(view).answers, seen(view).out_of_sync) == (4, {("t", 0, 3): 3, ("t", 0, 2): 3})


def test_each_broker_that_reported_lately_counts() -> None:
    clock = Time()
    view = ClusterView(clock=clock)
    view.saw_topics("n1", topic_answers(1, 2, 3))
    clock.now_s = FRESH_S
    view.saw_topics("n2", topic_answers(1, 2))
    view.saw_topics("n3", topic_answers(3))
    view.saw_topics("n3", topic_answers(2))
    assert [state.isr for state in seen(view, "t").reported["t", 0]] == [(1, 2), (2,), (1, 2, 3)]
    assert seen(view, "u").reported == {}
    clock.now_s = FRESH_S + 0.1
    assert [state.isr for state in seen(view, "t").reported["t", 0]] == [(1, 2), (2,)]


def test_the_nemesis_sees_who_has_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "bench_of", lambda _: cast("Bench", None))
    view = ClusterView()
    view.saw_topics("n1", topic_answers(1, 2))
    quorum = QuorumAnswer(0, 2, 3, 9, (), ())
    view.saw_controller("n2", quorum)
    (topic,) = topic_answers(1, 2).values()
    scenario = SimpleNamespace(workload=LogWorkload(min_insync_replicas=7))
    journals = Journals(tmp_path, "abc", Clock())
    stage: Any = SimpleNamespace(
        journals=journals,
        ledger=None,
        cluster=SimpleNamespace(nodes=Topology().nodes(), ended=frozenset({"n2"})),
        topics=[topic],
        sizes=TopicSizes(),
        plan=SimpleNamespace(scenario=scenario),
    )
    execution = Execution(stage, view, lambda: None, threading.Event(), cast("Deletions", None))
    snapshot = execution._snapshot_for_faults()
    journals.close()

    assert (snapshot.active_controller, snapshot.leaders) == (2, (1,))
    assert (snapshot.down, snapshot.dead, snapshot.held) == (frozenset(), frozenset({"n2"}), frozenset())
    assert snapshot.reported == {("t", 0): (PartitionAnswer(0, 1, 4, (1, 2, 3), (1, 2), None),)}
    assert (snapshot.min_insync_replicas, snapshot.quorum) == (7, quorum)
    assert (snapshot.answers, snapshot.out_of_sync) == (1, {("t", 0, 3): 1})
    assert snapshot.taken_at_ms > 0


def test_partitions_that_were_added_are_known_by_whoever_reported_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(tmp_path, monkeypatch)
    assert rig.execution._snapshot().first_topic == TopicSize("t", 0, 0)
    rig.view.saw_topics("n1", topic_answers(1, 2, 3))
    snapshot = rig.execution._snapshot()
    assert snapshot.first_topic == TopicSize("t", 0, 1)
    assert list(snapshot.partitions) == [("t", 0)]
    rig.sizes.grew("t", 3)  # acknowledged, and no broker reports it yet
    assert [states for _, states in sorted(rig.execution._snapshot().reported.items())][1:] == [(), ()]
    rig.outcomes()


class Rig:
    """A execution on a stage of paper, whose faults do nothing."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.cancelled = threading.Event()
        self.journals = Journals(folder, "abc", Clock())
        self.sizes, self.view = TopicSizes(), ClusterView()
        nodes = Topology().nodes()
        stage: Any = SimpleNamespace(
            journals=self.journals,
            ledger=Ledger(folder),
            cluster=SimpleNamespace(nodes=nodes, ended=frozenset()),
            topics=[SimpleNamespace(name="t", partitions=())],
            sizes=self.sizes,
            plan=SimpleNamespace(scenario=SimpleNamespace(workload=LogWorkload())),
        )
        monkeypatch.setattr(module, "bench_of", lambda _: Bench(nodes, {}, {}, {}))
        for where in ("harness.nemesis.nemesis.activate", "harness.nemesis.blinking.activate"):
            monkeypatch.setattr(where, lambda _spec, _fault, resolved, _bench: Fake(resolved.node.name))
        self.execution = Execution(stage, self.view, lambda: None, self.cancelled, cast("Deletions", None))

    def outcomes(self) -> dict[str, str]:
        """How each injection and heal ended."""
        self.execution.nemesis.heal_all()
        self.journals.close()
        ended = [o for o in recorded(self.folder, "nemesis*") if o.type is not OperationType.INVOKE]
        return {f"{o.f} {o.key}": o.type.value for o in ended if o.f in {"inject", "heal"}}


class Fake:
    cut = undo = ()

    def __init__(self, target: str) -> None:
        self.targets = (target,)

    def inject(self) -> None:
        """Do nothing, so that the cluster does not change."""

    def took_effect(self) -> dict[str, Any]:
        return {"seen": True}

    heal, healed = inject, took_effect


def test_blinks_are_played_beside_faults_and_are_over_with_the_schedule(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(tmp_path, monkeypatch)
    blinks = (Step(0, 0, Pause(broker(2))), Step(1, 60_000, Pause(broker(3))), Step(90_000, 1, Pause()))
    rig.execution.carry_out(FixedSchedule((Step(0, 100, Kill(broker(1))),), 200, blinks=blinks))
    assert rig.outcomes() == {
        **dict.fromkeys(("inject f1", "heal f1"), "ok"),
        **dict.fromkeys(("inject blink1", "heal blink1", "inject blink2", "heal blink2"), "ok"),
        "inject blink3": "fail",
    }
    assert pending_undos(read_ledger(tmp_path)) == ()


def test_a_blink_that_goes_wrong_ends_the_schedule_with_its_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = Rig(tmp_path, monkeypatch)

    def refuse(_: Fake) -> None:
        raise EngineError("the engine refused")

    monkeypatch.setattr(Fake, "inject", refuse)
    with pytest.raises(EngineError, match="the engine refused"):
        rig.execution.carry_out(FixedSchedule((), 50, blinks=(Step(0, 0, Pause(broker(2))),)))
    assert rig.outcomes() == {"inject blink1": "info"}
    assert pending_undos(read_ledger(tmp_path)) == ()


def test_throttles_that_remain_do_not_keep_configs_of_brokers() -> None:
    first, second = create_autospec(Operator, instance=True), create_autospec(Operator, instance=True)
    first.remove_throttles.side_effect = WireError("brokers 2 did not answer")
    execution: Any = Execution.__new__(Execution)
    execution._operators = [first, second]
    with pytest.raises(WireError, match="brokers 2"):
        execution.remove_throttles()
    for operator in (first, second):
        operator.remove_throttles.assert_called_once_with()
        operator.remove_broker_configs.assert_called_once_with()


def test_faults_are_healed_even_when_the_history_takes_nothing_more() -> None:
    execution, stage = an_execution(), a_stage()
    failures = HarnessFailures(stage)
    stage.phase.side_effect = JournalError("the history can't be written")

    with pytest.raises(JournalError):
        heal_faults(stage, execution, failures)

    execution.nemesis.heal_all.assert_called_once_with()
