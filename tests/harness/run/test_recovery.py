"""Recovery: awaited as far as it can come, and recorded as it is."""

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest.mock import MagicMock, create_autospec

import msgspec
import pytest

from checkers.history.operations import Operation, OperationType
from harness.errors import KrucibleError
from harness.record.harness_failures import HarnessFailures
from harness.record.journal import Clock, Journals, Recorder
from harness.run import full_isrs, recovery
from harness.run.full_isrs import await_full_isrs
from harness.run.recovery import await_recovery, recover
from harness.vocabulary import ShareWorkload, Workload
from harness.workloads.context import KafkaClients, WorkloadContext
from harness.workloads.probing import WriteProbe
from harness.workloads.worker import WorkloadError
from tests.harness.fakes.node import METADATA, FakeNode, metadata_answer
from tests.harness.recorded import recorded
from tests.harness.run.stages import PLAN, a_stage
from tests.harness.waiting import BOUND_S, StandingTime

BOUND_MS = 60_000
NOBODY = ("127.0.0.1", 9)
QUEUES = frozenset({"queue"})
CONTEXT = WorkloadContext(
    PLAN.scenario.workload,
    create_autospec(Journals, instance=True),
    create_autospec(KafkaClients, instance=True),
)


class Bench:
    """Two brokers that report the same, a third that nobody reaches, and a history."""

    def __init__(self, folder: Path, one: FakeNode, other: FakeNode) -> None:
        self.nodes = (one, other)
        self.brokers = {1: one.address, 2: other.address, 3: NOBODY}
        self.topics = ["log-0"]
        self.written: list[tuple[int, ...]] = []
        self.left_s = 0.0
        self._folder = folder
        self._journals = Journals(folder, "run", Clock())
        self._recorder = Recorder(self._journals.open("runner"), "runner")

    def report_replicas(self, replicas: list[int]) -> None:
        """All brokers report two partitions with these replicas, of which the first two are in sync."""
        for node in self.nodes:
            node.answers[METADATA] = lambda _: metadata_answer(replicas, [(1, 4), (2, 5)])

    def report_queue(self, replicas: list[int]) -> None:
        """They report another topic too, of one partition with these replicas."""

        def answer(_: object) -> object:
            both = metadata_answer([1, 2], [(1, 4), (2, 5)])
            both.topics += metadata_answer(replicas, [(1, 4)], topic="queue").topics
            return both

        self.topics = ["log-0", "queue"]
        for node in self.nodes:
            node.answers[METADATA] = answer

    def recover(
        self,
        brokers: Sequence[int],
        dead: frozenset[int],
        bound_ms: int = BOUND_MS,
        unread: frozenset[str] = frozenset(),
    ) -> Operation:
        def write(_topic: str, partitions: Sequence[int], deadline: float) -> dict[int, bool]:
            self.written.append(tuple(partitions))
            self.left_s = deadline - time.monotonic()
            return dict.fromkeys(partitions, True)

        asked = {broker: self.brokers[broker] for broker in brokers}
        done = await_recovery(self._recorder, asked, self.topics, bound_ms, write, unread=unread, dead=dead)
        self._journals.close()
        (_, ended) = [operation for operation in recorded(self._folder, "runner") if operation.f == "recover"]
        assert done is (ended.type is OperationType.OK)
        return ended


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(full_isrs, "_PAUSE_S", 0.005)
    with FakeNode() as one, FakeNode() as other:
        yield Bench(tmp_path, one, other)


def test_what_is_in_sync_and_takes_writes_has_recovered(bench: Bench) -> None:
    bench.report_replicas([1, 2])
    ended = bench.recover([1, 2], frozenset())
    assert ended.type is OperationType.OK
    assert [(one["isr"], one["write_acked"]) for one in ended.value["partitions"]] == [([1, 2], True)] * 2
    assert bench.written == [(0, 1)]


@pytest.mark.parametrize("replicas", [[1, 2], [1, 2, 3]], ids=["in sync", "not in sync"])
def test_a_topic_that_only_brokers_write_to_is_awaited_and_not_written_to(
    bench: Bench, replicas: list[int]
) -> None:
    bench.report_queue(replicas)
    ended = bench.recover([1, 2], frozenset(), bound_ms=30_000 if len(replicas) == 2 else 30, unread=QUEUES)
    assert [one["write_acked"] for one in ended.value["partitions"]] == [True, True, None]
    assert bench.written == [(0, 1)]
    assert (ended.type is OperationType.OK) == (len(replicas) == 2)


def test_if_nothing_may_be_written_nothing_is_shown_to_recover(bench: Bench) -> None:
    bench.report_replicas([1, 2])
    ended = bench.recover([1, 2], frozenset(), unread=frozenset({"log-0"}))
    assert (ended.type, bench.written) == (OperationType.INFO, [])


def test_without_a_dead_broker_no_more_is_awaited_than_can_come(bench: Bench) -> None:
    bench.report_replicas([1, 2, 3])
    ended = bench.recover([1, 2, 3], frozenset({3}))
    assert ended.type is OperationType.INFO, "what lacks a replica has not recovered"
    assert ended.value["took_ms"] < BOUND_MS
    assert [(one["replicas"], one["isr"]) for one in ended.value["partitions"]] == [([1, 2, 3], [1, 2])] * 2
    assert all(one["write_acked"] for one in ended.value["partitions"])
    assert ended.value["dead"] == [3]


def test_writes_have_time_after_the_wait_for_replicas_has_used_its_own(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "_WRITES_S", BOUND_S)
    bench.report_replicas([1, 2, 3])
    ended = bench.recover([1, 2], frozenset(), bound_ms=20)
    assert ended.type is OperationType.INFO
    assert all(one["write_acked"] for one in ended.value["partitions"])
    assert BOUND_S / 2 < bench.left_s <= BOUND_S


def test_nothing_is_awaited_where_every_broker_is_dead(bench: Bench) -> None:
    ended = bench.recover([1, 2], frozenset({1, 2}))
    assert ended.type is OperationType.INFO
    assert ended.value["took_ms"] < BOUND_MS
    assert (ended.value["partitions"], ended.value["dead"]) == ([], [1, 2])
    assert bench.written == []


@pytest.mark.parametrize("dead", [frozenset(), frozenset({2})], ids=["nobody", "one that is in sync"])
def test_what_lacks_a_living_broker_is_awaited_until_the_bound(bench: Bench, dead: frozenset[int]) -> None:
    bench.report_replicas([1, 2, 3])
    ended = bench.recover([1, 2], dead, bound_ms=30)
    assert ended.type is OperationType.INFO
    assert ended.value["took_ms"] >= 30


def test_before_a_load_every_broker_has_to_report_all_that_is_in_sync(bench: Bench) -> None:
    both, unreachable = [bench.brokers[1], bench.brokers[2]], bench.brokers[3]
    bench.report_replicas([1, 2])
    assert await_full_isrs(both, ["log-0"], 60)
    assert not await_full_isrs([*both, unreachable], ["log-0"], 0.05), "one broker reports nothing"
    bench.report_replicas([1, 2, 3])
    assert not await_full_isrs(both, ["log-0"], 0.05), "a replica is not in sync"


def a_probe(context: WorkloadContext[Workload]) -> MagicMock:
    """What writes to partitions in a recovery; nothing is written."""
    assert context is CONTEXT
    probe: MagicMock = create_autospec(WriteProbe, instance=True)
    probe.complaints = []
    return probe


@pytest.mark.parametrize("failure", [None, WorkloadError("worker producer-1 died")])
def test_no_traffic_is_awaited_of_a_load_that_may_be_dead(
    monkeypatch: pytest.MonkeyPatch, failure: KrucibleError | None
) -> None:
    monkeypatch.setattr(recovery, "WriteProbe", a_probe)
    monkeypatch.setattr(recovery, "await_recovery", create_autospec(await_recovery, return_value=True))
    stage, failures = a_stage(), HarnessFailures(a_stage())
    failures.failure = failure

    assert recover(stage, CONTEXT, failures, threading.Event()) is False
    assert stage.tally.await_more.called is (failure is None)


def test_recovery_writes_nothing_to_topics_that_final_readers_leave_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    awaiting = create_autospec(await_recovery, return_value=True)
    monkeypatch.setattr(recovery, "WriteProbe", MagicMock())
    monkeypatch.setattr(recovery, "await_recovery", awaiting)
    workload = ShareWorkload(groups=("share-0",), dead_letters=True)
    context = msgspec.structs.replace(CONTEXT, workload=workload)
    recover(a_stage(), context, HarnessFailures(a_stage()), threading.Event())
    assert awaiting.call_args.args[2] == ("shares-0", "dlq.share-0")
    assert awaiting.call_args.kwargs["unread"] == {"dlq.share-0"}


@pytest.mark.parametrize(
    ("recovered", "took_s", "recovery_timed_out"),
    [(True, 61.0, False), (False, 60.0, True), (False, 59.0, False)],
    ids=["recovered", "waited to the bound", "ended early, for a broker is dead"],
)
def test_recovery_timed_out_only_if_it_was_awaited_to_its_bound(
    monkeypatch: pytest.MonkeyPatch, *, recovered: bool, took_s: float, recovery_timed_out: bool
) -> None:
    clock = StandingTime()

    def await_recovery(*_: object, **__: object) -> bool:
        clock.go_on(took_s)
        return recovered

    monkeypatch.setattr(recovery, "time", clock)
    monkeypatch.setattr(recovery, "WriteProbe", a_probe)
    monkeypatch.setattr(recovery, "await_recovery", await_recovery)
    stage = a_stage()
    assert stage.plan.scenario.assumptions.recovery_ms == 60_000
    assert recover(stage, CONTEXT, HarnessFailures(stage), threading.Event()) is recovery_timed_out
