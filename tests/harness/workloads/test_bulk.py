"""The bulk workload: each record has its fate, whatever the library reports; no process is left behind."""

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from checkers.history.operations import Operation, OperationType
from checkers.history.reading import read_journals
from harness.clients.interface import ClientFailedError, ProducerOptions
from harness.errors import KrucibleError
from harness.record.events import Event, RecordsAcknowledged
from harness.record.journal import Clock, JournalError, Journals, Recorder
from harness.vocabulary import BulkWorkload
from harness.workloads import bulk, bulk_lanes
from harness.workloads.bulk import BulkWriter, bulk_workers
from harness.workloads.bulk_lanes import Lane
from harness.workloads.context import WorkloadContext, clients_for
from tests.harness.recorded import recorded
from tests.harness.waiting import BOUND_S, wait_until

OK, INFO, INVOKE = OperationType.OK, OperationType.INFO, OperationType.INVOKE
OPTIONS = ProducerOptions(("127.0.0.1:1",), "bulk-0", delivery_ms=round(BOUND_S * 1000))
BATCH = 4


class Message:
    """A delivery report."""

    def __init__(self, value: bytes, offset: int) -> None:
        self._value, self._offset = value, offset

    def value(self) -> bytes:
        return self._value

    def offset(self) -> int:
        return self._offset


class FakeProducer:
    """Takes batches; the test decides what is reported of them."""

    def __init__(self) -> None:
        self.queue_full_from = BATCH
        self.taken: list[bytes] = []
        self.raised: Exception | None = None
        self.report: Callable[[Any, Any], None] = lambda _error, _message: None

    def produce_batch(
        self,
        topic: str,
        records: list[dict[str, Any]],
        partition: int,
        on_delivery: Callable[[Any, Any], None],
    ) -> int:
        assert (topic, partition) == ("bulk-0", 3)
        self.taken = [record["value"] for record in records[: self.queue_full_from]]
        for record in records[self.queue_full_from :]:
            record["_error"] = KafkaError(KafkaError._QUEUE_FULL)
        self.report = on_delivery
        return len(self.taken)

    def poll(self, _timeout_s: float) -> int:
        if self.raised is not None:
            raise self.raised
        return 0

    def acknowledge(self, *offsets: int) -> None:
        for value, offset in zip(self.taken, offsets, strict=True):
            self.report(None, Message(value, offset))


class Bench:
    def __init__(self, folder: Path) -> None:
        self.journals = Journals(folder, "run", Clock())
        self.folder = folder
        self.lane = Lane(Recorder(self.journals.open("bulk-0"), 3, 10), 3, OPTIONS, b"run:", BATCH)
        self.producer = FakeProducer()
        self.lane._producer = self.producer  # type: ignore[assignment]  # the part of it that lanes use
        self.lane.begin()

    def last(self) -> Operation:
        return recorded(self.folder, "bulk-0")[-1]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.journals.close()


def test_a_batch_is_invoked_as_a_stretch_before_it_is_queued(bench: Bench) -> None:
    invoked = bench.last()
    assert (invoked.type, invoked.f, invoked.key, invoked.process) == (INVOKE, "send", "bulk-0", 3)
    assert invoked.value == {"partition": 3, "first": 3_000_000_001, "count": 4}
    assert bench.producer.taken == [b"run:300000000%d" % number for number in (1, 2, 3, 4)]


@pytest.mark.parametrize(
    ("offsets", "runs"),
    [
        ((7, 8, 9, 10), [[7, 4]]),
        ((7, 8, 12, 13), [[7, 2], [12, 2]]),
        ((0, 2, 4, 6), [[0, 1], [2, 1], [4, 1], [6, 1]]),
    ],
)
def test_acknowledged_offsets_are_recorded_as_runs(bench: Bench, offsets: tuple[int, ...], runs: Any) -> None:
    assert bench.lane.finish() is None
    bench.producer.acknowledge(*offsets)
    assert bench.lane.finish() == (OK, 4)
    assert bench.last().value == {"partition": 3, "first": 3_000_000_001, "count": 4, "offsets": runs}
    assert not bench.lane.busy


def test_reports_out_of_order_are_recorded_record_by_record(bench: Bench) -> None:
    bench.producer.taken.reverse()
    bench.producer.acknowledge(13, 12, 11, 10)
    assert bench.lane.finish() == (OK, 4)
    assert [entry[1:] for entry in bench.last().value] == [
        [3_000_000_001, 10, "ok"],
        [3_000_000_002, 11, "ok"],
        [3_000_000_003, 12, "ok"],
        [3_000_000_004, 13, "ok"],
    ]


def test_after_one_failure_the_outcome_of_every_record_is_reported(bench: Bench) -> None:
    first, *others = bench.producer.taken
    bench.producer.report(KafkaError(KafkaError._MSG_TIMED_OUT), Message(first, -1001))
    for offset, value in enumerate(others):
        bench.producer.report(None, Message(value, offset))
    assert bench.lane.finish() == (INFO, 3)
    completion = bench.last()
    assert completion.type is INFO
    assert [entry[2:] for entry in completion.value] == [[None, "info"], [0, "ok"], [1, "ok"], [2, "ok"]]
    assert "_MSG_TIMED_OUT" in (completion.error or "")


def test_what_is_never_reported_is_open(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: bench.lane._deadline_s + 1)
    assert bench.lane.finish() == (INFO, 0)
    assert bench.last().error == "no delivery report within the delivery timeout"


def test_what_the_library_refuses_was_not_sent(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.producer.acknowledge(0, 1, 2, 3)
    bench.lane.finish()
    bench.producer.queue_full_from = 1
    bench.lane.begin()
    bench.producer.acknowledge(4)
    assert bench.lane.finish() == (INFO, 1)
    assert [entry[3] for entry in bench.last().value] == ["ok", "fail", "fail", "fail"]
    bench.journals.close()


FATAL = KafkaException(KafkaError(45, "the broker lost records", fatal=True))


def test_a_fatal_error_is_the_fate_of_what_was_outstanding(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library's poll raises it, which ended the process, and the run with it."""
    monkeypatch.setattr(bulk_lanes, "REPORTS_AFTER_FATAL_S", 0.0)
    bench.producer.raised = FATAL
    bench.producer.report(None, Message(bench.producer.taken[0], 7))
    bench.lane.poll()
    assert bench.lane.finish() == (INFO, 1)
    completion = bench.last()
    assert [entry[3] for entry in completion.value] == ["ok", "info", "info", "info"]
    assert completion.error == "OUT_OF_ORDER_SEQUENCE_NUMBER: the broker lost records (fatal)"


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(ClientFailedError("no such configuration"), "fail"), (TypeError("odd"), "info")],
)
def test_a_batch_that_can_not_be_queued_is_completed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, outcome: str
) -> None:
    bench = Bench(tmp_path)
    bench.producer.acknowledge(0, 1, 2, 3)
    bench.lane.finish()
    bench.lane.retire()

    def refuse(*_: object) -> None:
        raise error

    monkeypatch.setattr(bulk_lanes, "made", refuse)
    bench.lane.begin()
    bench.lane.poll()
    assert bench.lane.finish() == (OperationType(outcome), 0)
    assert str(error) in (bench.last().error or "")
    bench.journals.close()


def made_context(folder: Path, heard: list[Event]) -> WorkloadContext[BulkWorkload]:
    workload = BulkWorkload(partitions=3, writers=2, batch=10, rate=1000)
    journals = Journals(folder, "run", Clock(), heard.append)
    bootstrap = ("127.0.0.1:1",)
    return WorkloadContext(workload, journals, clients_for(workload, bootstrap), bootstrap)


def test_processes_keep_their_books_without_a_broker_and_end_when_asked_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "DELIVERY_MS", 300)
    workers = bulk_workers(made_context(tmp_path, []))
    for worker in workers:
        worker.start()
    everything = {INVOKE: {0, 1, 2}, INFO: {0, 1, 2}}
    wait_until(lambda: partitions_by_type(recorded(tmp_path, "bulk-*")) == everything)
    for worker in workers:
        worker.stopping.set()
    for worker in workers:
        worker.join(BOUND_S)
        assert (worker.is_alive(), worker.failure) == (False, None)
    operations = recorded(tmp_path, "bulk-*")
    assert sum(o.type is INVOKE for o in operations) == sum(o.type is not INVOKE for o in operations)
    assert partitions_by_type(operations) == everything


def partitions_by_type(operations: list[Operation]) -> dict[OperationType, set[int]]:
    found: dict[OperationType, set[int]] = {}
    for operation in operations:
        value = operation.value
        partitions = {value["partition"]} if isinstance(value, dict) else {entry[0] for entry in value}
        found.setdefault(operation.type, set()).update(partitions)
    return found


@pytest.mark.slow
def test_a_process_that_is_killed_is_replaced_and_nothing_of_its_history_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Any] = []
    popen: Any = subprocess.Popen

    def remembered(*words: Any, **options: Any) -> Any:
        started.append(popen(*words, **options))
        return started[-1]

    monkeypatch.setattr(bulk, "DELIVERY_MS", 300)
    monkeypatch.setattr(subprocess, "Popen", remembered)
    worker = BulkWriter(made_context(tmp_path, []), 0)
    worker.start()
    for deaths in (1, 2):
        wait_until(partial(has_begun, tmp_path, 2 * deaths))
        os.kill(started[-1].pid, signal.SIGKILL)
        wait_until(partial(is_longer, started, deaths))
    wait_until(lambda: len(invoked(tmp_path)) >= 6)
    worker.stopping.set()
    worker.join(BOUND_S)
    assert (worker.is_alive(), worker.failure) == (False, None)
    assert worker.complaints == ["bulk-writer-0: a process ended by signal 9 was replaced"] * 2
    history = read_journals([tmp_path / "history-bulk-0.jsonl"])
    assert history.damage == ()
    firsts = [o.value["first"] for o in history.operations if o.type is INVOKE]
    assert len(set(firsts)) == len(firsts)
    killed = [o for o in history.operations if o.error == "its process was ended from outside"]
    assert killed
    assert {o.type for o in killed} == {INFO}
    assert all(isinstance(o.value, dict) for o in killed)
    for o in killed:
        assert not [later for later in history.operations[o.index + 1 :] if later.process == o.process]
    outstanding = Counter(o.process if o.type is INVOKE else None for o in history.operations)
    assert sum(o.type is not INVOKE for o in history.operations) == outstanding[None]
    assert len(firsts) == outstanding[None]


def invoked(folder: Path) -> list[Operation]:
    return [o for o in recorded(folder, "bulk-0") if o.type is INVOKE]


def has_begun(folder: Path, least: int) -> bool:
    return len(invoked(folder)) >= least


def is_longer(started: list[Any], than: int) -> bool:
    return len(started) > than


def scripted(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Let every process of the workload do something else."""
    popen: Any = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda words, **options: popen([words[0], "-c", script], **options)
    )


def test_processes_that_are_killed_repeatedly_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "_DEATHS_MAX", 2)
    scripted(monkeypatch, "import os; os.kill(os.getpid(), 9)")
    worker = BulkWriter(made_context(tmp_path, []), 0)
    worker.start()
    worker.join(BOUND_S)
    assert isinstance(worker.failure, KrucibleError)
    assert "killed 2 times" in str(worker.failure)


def test_a_process_that_fails_by_itself_is_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripted(monkeypatch, "raise SystemExit('odd')")
    worker = BulkWriter(made_context(tmp_path, []), 0)
    worker.start()
    worker.join(BOUND_S)
    assert isinstance(worker.failure, KrucibleError)
    assert "ended with 1" in str(worker.failure)


def test_a_journal_that_can_not_be_written_is_reported_as_such(tmp_path: Path) -> None:
    context = made_context(tmp_path, [])
    (tmp_path / "history-bulk-0.jsonl").write_text("there already")
    worker = BulkWriter(context, 0)
    worker.start()
    worker.join(BOUND_S)
    assert isinstance(worker.failure, JournalError)


def test_what_is_acknowledged_elsewhere_is_announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Event] = []
    context = made_context(tmp_path, heard)
    script = (
        "import sys; sys.stdin.readline(); print(7, flush=True);"
        " sys.stdin.read(); print('late', file=sys.stderr)"
    )
    scripted(monkeypatch, script)
    worker = BulkWriter(context, 0)
    worker.start()
    wait_until(lambda: bool(heard))
    worker.stopping.set()
    worker.join(BOUND_S)
    assert heard == [RecordsAcknowledged(7)]
    assert worker.complaints == ["bulk-writer-0: late"]
