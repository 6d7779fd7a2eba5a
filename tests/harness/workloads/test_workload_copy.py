"""Copies are made exactly once by a group over a coordinator that is correct, whatever goes wrong."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from checkers.history.operations import Operation, OperationType
from harness.clients import ClientFailedError, ClientKind, ReadError
from harness.clients.transactional import TransactionError
from harness.record.journal import Clock, Journals
from harness.vocabulary import CopyWorkload, GroupProtocol
from harness.workloads import copy
from harness.workloads.consuming import ConsumerWorker
from harness.workloads.context import WorkloadContext, uses
from harness.workloads.copy import CopyContext, CopyingWorker, copy_final_workers, copy_workers
from harness.workloads.txn_transactor import Intent, TxnRecord
from harness.workloads.worker import join_all
from tests.harness.fakes.log import FakeLog
from tests.harness.fakes.transactions import FakeCoordinator, Hook
from tests.harness.recorded import recorded
from tests.harness.waiting import BOUND_S, StandingTime, wait_until

OK, FAIL, INFO, INVOKE = OperationType.OK, OperationType.FAIL, OperationType.INFO, OperationType.INVOKE
WORKLOAD = CopyWorkload(partitions=2)
EACH = 60


class Bench:
    """A fake coordinator with records to copy, and the history."""

    def __init__(self, folder: Path, workload: CopyWorkload = WORKLOAD) -> None:
        self.folder = folder
        self.coordinator = FakeCoordinator()
        self.coordinator.inputs = {
            p: [f"run:{p}{n:03}".lstrip("0").encode() for n in range(EACH)] for p in (1, 2)
        }
        self.journals = Journals(folder, "run", Clock())
        self.context: CopyContext = WorkloadContext(workload, self.journals, FakeLog(2), ("localhost:1",))

    def operations(self, f: str) -> list[Operation]:
        return [operation for operation in recorded(self.folder) if operation.f == f]

    def done(self) -> bool:
        return self.coordinator.offsets == {("copy-in", 1): EACH, ("copy-in", 2): EACH}

    def copy(self, enough: Callable[[], bool] | None = None, index: int = 0) -> None:
        worker = CopyingWorker(self.context, index, self.coordinator.make, self.coordinator.join)
        worker.start()
        wait_until(enough or self.done)
        worker.stopping.set()
        assert join_all([worker], BOUND_S) == []
        assert self.coordinator.closed == self.coordinator.made

    def copied(self) -> list[Any]:
        """Inputs of the committed transactions, as the history has them."""
        committed = {int(value.decode().removeprefix("run:")) for value in self.coordinator.committed}
        return [
            (partition, offset)
            for operation in self.operations("txn")
            if operation.type is INVOKE and operation.value["mops"][0][3] in committed
            for _, partition, offsets, _ in operation.value["consumed"]
            for offset in offsets
        ]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(copy, "_REMAKE_PAUSE_S", 0.005)
    made = Bench(tmp_path)
    yield made
    made.journals.close()


def sometimes(error: Exception, every: int = 5) -> Hook:
    calls = iter(range(10**9))
    return lambda _name: error if next(calls) % every == every - 1 else None


EVERYTHING = [(p, offset) for p in (1, 2) for offset in range(EACH)]


def test_everything_is_copied_once(bench: Bench) -> None:
    bench.copy()
    assert sorted(bench.copied()) == EVERYTHING
    begun, ended = bench.operations("txn")[:2]
    consumed = [["copy-in", 1, [0, 1], [1000, 1001]], ["copy-in", 2, [0, 1], [2000, 2001]]]
    assert begun.value["consumed"] == ended.value["consumed"] == consumed
    assert [mop[:3] for mop in begun.value["mops"][:4]] == [
        ["send", "copy-out", partition] for partition in (1, 1, 2, 2)
    ]
    assert begun.value["mops"][4] == ["offsets", "copy-0", "copy-in", [[1, 2], [2, 2]]]
    purposes = {o.value["end"] for o in bench.operations("txn")}
    assert purposes == {"commit", "abort"}


@pytest.mark.parametrize("step", ["commit", "abort", "offsets", "send", "initialise", "begin"])
def test_whatever_step_fails_everything_is_copied_once(bench: Bench, step: str) -> None:
    setattr(bench.coordinator, f"on_{step}", sometimes(TransactionError("no answer")))
    bench.copy()
    assert sorted(bench.copied()) == EVERYTHING


@pytest.mark.parametrize("step", ["poll", "rewind"])
def test_a_member_that_can_not_read_leaves_and_comes_back(bench: Bench, step: str) -> None:
    setattr(bench.coordinator, f"on_{step}", sometimes(ReadError("cut"), 3 if step == "poll" else 1))
    bench.copy()
    assert sorted(bench.copied()) == EVERYTHING


def test_a_member_that_can_not_be_made_is_made_again(bench: Bench) -> None:
    bench.coordinator.on_make = sometimes(ClientFailedError("gone"), 2)
    bench.copy()
    assert sorted(bench.copied()) == EVERYTHING


def test_a_commit_in_doubt_that_happened_is_not_done_again(bench: Bench) -> None:
    bench.copy(lambda: len(bench.operations("txn")) > 10)
    coordinator, before = bench.coordinator, len(bench.coordinator.committed)
    assert before > 0
    worker = CopyingWorker(bench.context, 1, coordinator.make, coordinator.join)
    worker.start()
    wait_until(bench.done)
    worker.stopping.set()
    assert join_all([worker], BOUND_S) == []
    assert sorted(bench.copied()) == EVERYTHING


def test_a_member_that_leaves_before_its_transaction_ends_continues_at_the_groups_offsets(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copy, "_HANDOVERS_S", (0.0, 0.0))
    monkeypatch.setattr(copy, "_HANDED_OVER_S", (0.001, 0.002))
    left: list[str] = []
    leave = CopyingWorker._leave

    def leaves(worker: CopyingWorker) -> None:
        left.append("member" if worker._member is not None else "nobody")
        leave(worker)

    monkeypatch.setattr(CopyingWorker, "_leave", leaves)
    bench.copy()
    assert sorted(bench.copied()) == EVERYTHING
    ends = [o.value["end"] for o in bench.operations("txn") if o.type is INVOKE]
    assert set(ends) == {"commit", "abort"}, "after an aborted one it reads the same records again"
    assert left.count("member") >= len(ends), "once for each transaction"


def test_the_last_members_keep_transactions_open_past_their_timeout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copy, "_LATE_S", (0.0, 0.01))
    bench = Bench(tmp_path, msgspec.structs.replace(WORKLOAD, lapsing_interval_ms=0, lapsing_timeout_ms=20))
    bench.copy(index=1)
    bench.journals.close()
    assert sorted(bench.copied()) == EVERYTHING
    times_ms, begun = [], 0
    for operation in bench.operations("txn"):
        if operation.type is INVOKE:
            begun = operation.time_ns
        else:
            times_ms.append((operation.time_ns - begun) / 1e6)
    assert sum(ms >= 20 for ms in times_ms) > len(times_ms) / 2
    assert bench.operations("init-transactions")[0].value["timeout_ms"] == 20


def test_the_first_member_keeps_none_open(bench: Bench) -> None:
    bench.copy()
    assert "timeout_ms" not in bench.operations("init-transactions")[0].value


def test_what_is_kept_open_is_to_be_committed_with_something_sent_late() -> None:
    workload = CopyWorkload(lapsing_interval_ms=0, lapsing_timeout_ms=500)
    sends = (TxnRecord("t", 0, 1), TxnRecord("t", 1, 2), TxnRecord("t", 1, 3))
    seen = set()
    for number in range(60):
        intent = copy._Lapses(workload, number).perhaps(Intent(sends, commits=False))
        assert intent.commits
        assert 0.5 <= intent.pause_s <= 3.5
        seen.add(intent.late)
    assert seen == {0, 1, 2}, "the first record is there when the time is up"


def test_between_two_that_are_kept_open_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    standing = StandingTime()
    monkeypatch.setattr(copy, "time", standing)
    lapses = copy._Lapses(CopyWorkload(), 3)
    intent = Intent((TxnRecord("t", 0, 1),))
    assert lapses.perhaps(intent) is intent
    standing.go_on(15.0)
    kept = lapses.perhaps(intent)
    assert kept.pause_s >= 3.0
    standing.go_on(kept.pause_s)
    assert lapses.perhaps(intent) is intent
    standing.go_on(15.0)
    assert lapses.perhaps(intent).pause_s >= 3.0


def test_the_groups_offsets_are_read_in_the_end(bench: Bench) -> None:
    bench.coordinator.offsets = {("copy-in", 1): 17}
    answers: list[Exception | None] = [ReadError("cut"), None]
    bench.coordinator.on_poll = lambda _group: answers.pop(0)
    workers = copy_final_workers(bench.context, time.monotonic() + BOUND_S, bench.coordinator.ask)
    for worker in workers:
        worker.start()
    join_all(workers, BOUND_S)
    begun, ended = bench.operations("committed-offsets")
    assert (begun.type, begun.key, begun.value) == (INVOKE, "copy-0", {"topic": "copy-in"})
    assert (ended.type, ended.value) == (OK, {"topic": "copy-in", "offsets": [[0, None], [1, 17]]})


def test_offsets_that_can_not_be_read_are_open(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(_group: str) -> ReadError:
        standing.go_on(1.0)
        return ReadError("cut")

    standing = StandingTime()
    monkeypatch.setattr(copy, "time", standing)
    bench.coordinator.on_poll = cut
    workers = copy_final_workers(bench.context, standing.monotonic() + 2.5, bench.coordinator.ask)
    for worker in workers:
        worker.start()
    join_all(workers, BOUND_S)
    ended = bench.operations("committed-offsets")[-1]
    assert (ended.type, ended.error) == (INFO, "cut")


def test_a_member_of_each_library_copies_and_its_version_is_recorded(tmp_path: Path) -> None:
    libraries = ("kafka-python", "confluent-kafka", "kafka-clients")
    workload = CopyWorkload(partitions=2, libraries=libraries, consumers=6)
    bench = Bench(tmp_path, workload)
    bench.coordinator.version = 2
    bench.copy(index=2)
    ended = [one for one in bench.operations("txn") if one.type is not INVOKE]
    assert {(one.value["client"], one.value["version"]) for one in ended} == {("kafka-clients", 2)}
    bench.journals.close()


def test_every_library_reads_both_topics(tmp_path: Path) -> None:
    libraries = ("kafka-python", "confluent-kafka", "kafka-clients")
    bench = Bench(tmp_path, CopyWorkload(partitions=2, libraries=libraries, consumers=6))
    workers = copy_workers(bench.context, bench.coordinator.make, bench.coordinator.join)
    consumers = [worker for worker in workers if isinstance(worker, ConsumerWorker)]
    assert [consumer.topic for consumer in consumers] == ["copy-in"] * 3 + ["copy-out"] * 3
    bench.journals.close()


def test_only_kafkas_own_client_is_in_a_group_with_the_newer_protocol(tmp_path: Path) -> None:
    workload = CopyWorkload(partitions=2, protocol=GroupProtocol.CONSUMER)
    assert (workload.copiers, workload.versions_min) == (("kafka-clients",), "4.0.0")
    assert workload.needs_java
    assert uses(workload, ClientKind.JAVA)
    assert not WORKLOAD.needs_java
    bench = Bench(tmp_path, workload)
    bench.copy()
    assert {options.modern for options in bench.coordinator.joined} == {True}
    assert {one.value["client"] for one in bench.operations("txn")} == {"kafka-clients"}
    bench.journals.close()


def test_consumers_read_both_topics(bench: Bench) -> None:
    workers = copy_workers(bench.context, bench.coordinator.make, bench.coordinator.join)
    assert len(workers) == WORKLOAD.processes
    consumers = [worker for worker in workers if isinstance(worker, ConsumerWorker)]
    assert [consumer.topic for consumer in consumers] == ["copy-in", "copy-in", "copy-out", "copy-out"]
