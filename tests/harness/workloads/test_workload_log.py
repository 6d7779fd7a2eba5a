"""The load keeps its books: one operation at a time, retirement after doubt, nothing hidden."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from checkers.history.operations import Operation, OperationType
from checkers.history.polls import Isolation
from harness.clients import ClientFailedError, ProducerRecord, ReadError, SendResult
from harness.record.journal import Clock, JournalError, Journals
from harness.vocabulary import LogWorkload
from harness.workloads import consuming, producing, worker
from harness.workloads.context import LogContext
from harness.workloads.load import Load
from harness.workloads.log import log_workers
from harness.workloads.producing import Pace
from harness.workloads.worker import WorkloadError, join_all
from tests.harness.fakes.log import FakeLog, once
from tests.harness.recorded import recorded
from tests.harness.waiting import BOUND_S, wait_until

OK, FAIL, INFO, INVOKE = OperationType.OK, OperationType.FAIL, OperationType.INFO, OperationType.INVOKE
WORKLOAD = LogWorkload(producers=2, consumers=2, partitions=4, batch=3, rate=400)


class Bench:
    """A load over a fake log, and its history."""

    def __init__(self, folder: Path, workload: LogWorkload = WORKLOAD) -> None:
        self.folder = folder
        self.log = FakeLog(workload.partitions)
        self.journals = Journals(folder, "run", Clock())
        self.context = LogContext(workload, self.journals, self.log)
        self.load = Load(log_workers(self.context))

    def operations(self, f: str | None = None) -> list[Operation]:
        return [operation for operation in recorded(self.folder) if f in (None, operation.f)]

    def run_until(self, enough: Callable[[], bool]) -> list[str]:
        def enough_and_well() -> bool:
            self.load.check()
            return enough()

        self.load.start()
        wait_until(enough_and_well)
        return self.load.stop(BOUND_S)

    def count(self, f: str, kind: OperationType) -> int:
        return sum(operation.type is kind for operation in self.operations(f))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (producing, consuming):
        monkeypatch.setattr(module, "_REMAKE_PAUSE_S", 0.005)
    monkeypatch.setattr(consuming, "POLL_PAUSE_S", 0.005)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    made.journals.close()


def polled(operations: list[Operation]) -> list[tuple[int, int, Any]]:
    return [
        (partition, offset, value)
        for operation in operations
        if operation.type is OK
        for partition, offsets, values in operation.value["records"]
        for offset, value in zip(offsets, values, strict=True)
    ]


def test_what_was_acknowledged_is_in_the_log_at_its_offset(bench: Bench) -> None:
    assert bench.run_until(lambda: bench.count("send", OK) >= 20) == []
    sends = [operation for operation in bench.operations("send") if operation.type is OK]
    for operation in sends:
        assert len(operation.value) == WORKLOAD.batch
        for partition, value, offset, outcome in operation.value:
            assert outcome == "ok"
            assert bench.log.partitions[partition][offset] == f"run:{value}".encode()
    assert bench.log.closed == len(bench.log.made)


def test_values_are_unique_and_carry_their_worker(bench: Bench) -> None:
    bench.run_until(lambda: bench.count("send", OK) >= 20)
    values = [
        (operation.process, value)
        for operation in bench.operations("send")
        if operation.type is INVOKE
        for _, value in operation.value
    ]
    assert len({value for _, value in values}) == len(values)
    assert all(value // 10**9 == process for process, value in values)


def test_consumers_read_every_offset_once_and_in_order(bench: Bench) -> None:
    bench.run_until(lambda: len(polled(bench.operations("poll"))) >= 60)
    for number in (2, 3):
        mine = [operation for operation in bench.operations("poll") if operation.process == number]
        for partition in range(WORKLOAD.partitions):
            offsets = [offset for p, offset, _ in polled(mine) if p == partition]
            assert offsets == list(range(len(offsets)))


def test_clients_and_isolation_levels_alternate(bench: Bench) -> None:
    bench.run_until(lambda: len(bench.log.made) == 4)
    assert sorted(bench.log.made) == [
        "confluent-kafka producer",
        f"confluent-kafka {Isolation.READ_COMMITTED}",
        "kafka-python producer",
        f"kafka-python {Isolation.READ_UNCOMMITTED}",
    ]


def test_every_process_has_one_operation_outstanding(bench: Bench) -> None:
    bench.log.on_poll = once(ReadError("broken"))
    bench.run_until(lambda: bench.count("poll", INFO) == 1 and bench.count("send", OK) >= 10)
    outstanding: set[int | str] = set()
    retired: set[int | str] = set()
    for operation in bench.operations():
        assert operation.process not in retired
        if operation.type is INVOKE:
            assert operation.process not in outstanding
            outstanding.add(operation.process)
        else:
            outstanding.remove(operation.process)
            if operation.type is INFO:
                retired.add(operation.process)
    assert len(retired) == 1


@pytest.mark.parametrize(
    ("fates", "expected"),
    [
        ([SendResult(INFO, error="a"), SendResult(INFO, error="a"), SendResult(INFO, error="b")], INFO),
        ([SendResult(FAIL, error="a")] * 3, FAIL),
        ([SendResult(OK, 7), SendResult(FAIL, error="a"), SendResult(OK, 8)], INFO),
    ],
)
def test_a_batch_is_what_all_of_its_records_are(
    tmp_path: Path, fates: list[SendResult], expected: OperationType
) -> None:
    bench = Bench(tmp_path, msgspec.structs.replace(WORKLOAD, producers=1, consumers=0))
    left = list(fates)
    bench.log.on_send = lambda _record: left.pop(0) if left else None
    bench.run_until(lambda: bench.count("send", OK) >= 1)
    bench.journals.close()
    first, then = [operation for operation in bench.operations("send") if operation.type is not INVOKE][:2]
    assert first.type is expected
    assert [outcome for *_, outcome in first.value] == [fate.outcome for fate in fates]
    assert first.error == "; ".join(dict.fromkeys(fate.error for fate in fates if fate.error))
    assert then.process == (bench.context.workers if expected is INFO else 0)
    assert bench.log.made == ["kafka-python producer"] * 2
    assert bench.log.closed == 2


def test_without_a_client_nothing_was_sent(tmp_path: Path) -> None:
    bench = Bench(tmp_path, msgspec.structs.replace(WORKLOAD, producers=1, consumers=0))
    make = once(ClientFailedError("nobody answers"))
    bench.log.on_make = lambda _what: make()
    bench.run_until(lambda: bench.count("send", OK) >= 1)
    bench.journals.close()
    failed = [operation for operation in bench.operations("send") if operation.type is FAIL]
    assert len(failed) == 1
    assert "nobody answers" in (failed[0].error or "")


def test_a_consumer_goes_on_where_the_last_one_stopped(bench: Bench) -> None:
    calls = iter(range(10**6))
    bench.log.on_poll = lambda: ReadError("cut") if next(calls) in (20, 40) else None
    bench.run_until(lambda: bench.count("poll", INFO) == 2 and bench.count("assign", OK) == 4)
    for worker_number in (2, 3):
        position: dict[int, int] = {}
        for operation in bench.operations():
            if operation.process not in range(worker_number, 100, bench.context.workers):
                continue
            if operation.f == "assign" and operation.type is OK:
                assert dict(operation.value) == {**dict.fromkeys(range(4), 0), **position}
            if operation.f == "poll":
                position.update({p: offset + 1 for p, offset, _ in polled([operation])})


def test_a_lost_position_is_recorded_and_reading_begins_anew_there(bench: Bench) -> None:
    fail_poll = once(ReadError("OffsetOutOfRange", [1]))
    bench.log.on_poll = lambda: fail_poll() if len(bench.log.partitions[0]) > 5 else None
    bench.log.on_offsets = once(ReadError("not now"))
    bench.run_until(lambda: bench.count("assign", OK) == 3)
    polls = [operation for operation in bench.operations("poll") if operation.type is INFO]
    assert polls[0].error == "OffsetOutOfRange"
    assert dict(max(bench.operations("assign"), key=lambda one: one.time_ns).value)[1] == 0


def test_an_assignment_that_fails_is_tried_again(bench: Bench) -> None:
    fail = once(ReadError("fatal"))
    bench.log.on_assign = lambda _positions: fail()
    bench.run_until(lambda: bench.count("assign", OK) == 2)
    assert bench.count("assign", INFO) == 1


def test_a_consumer_waits_for_a_cluster(bench: Bench) -> None:
    left = [ClientFailedError("gone")] * 5
    bench.log.on_make = lambda what: left.pop() if "read_" in what and left else None
    bench.run_until(lambda: bench.count("poll", OK) >= 2)
    assert left == []


def test_a_worker_that_dies_is_not_hidden(bench: Bench) -> None:
    def defect(_record: ProducerRecord) -> SendResult:
        raise KeyError("a defect")

    bench.log.on_send = defect
    with pytest.raises(WorkloadError, match=r"worker producer-\d died") as caught:
        bench.run_until(lambda: False)
    assert "a defect" in caught.value.got
    with pytest.raises(WorkloadError):
        bench.load.stop()


def test_a_full_disk_is_reported_before_anything_else(bench: Bench) -> None:
    left: list[Exception] = [KeyError("a defect"), JournalError("the history can't be written")]

    def broken(_record: ProducerRecord) -> SendResult:
        raise left.pop(0)

    bench.log.on_send = broken
    bench.load.start()
    wait_until(lambda: not left)
    with pytest.raises(JournalError):
        bench.load.stop()


def test_a_client_that_will_not_close_is_complained_about(bench: Bench) -> None:
    bench.log.on_close = once(ClientFailedError("did not end"))
    complaints = bench.run_until(lambda: len(bench.log.made) == 4)
    assert [complaint.endswith("did not end") for complaint in complaints] == [True]


def test_a_worker_that_does_not_stop_is_reported() -> None:
    release = threading.Event()

    class Stuck(worker.Worker):
        def work(self) -> None:
            release.wait()

    stuck = Stuck("stuck")
    stuck.start()
    with pytest.raises(WorkloadError, match="did not stop") as caught:
        join_all([stuck], 0.01)
    release.set()
    stuck.join()
    assert caught.value.got == "stuck"


def test_a_pace_makes_up_for_a_few_turns_only() -> None:
    pace, never = Pace(0.01), threading.Event()
    assert pace.turn(never)
    threading.Event().wait(0.2)
    began = time.monotonic()
    assert all(pace.turn(never) for _ in range(20))
    assert time.monotonic() - began >= 0.1


def test_a_pace_ends_when_it_is_stopped() -> None:
    stopping = threading.Event()
    stopping.set()
    assert not Pace(10.0, 10.0).turn(stopping)


def test_most_batches_stay_at_home_and_some_do_not(bench: Bench) -> None:
    def batches_of_one() -> list[set[int]]:
        return [
            {partition for partition, _ in operation.value}
            for operation in bench.operations("send")
            if operation.type is INVOKE and operation.process == 1
        ]

    bench.run_until(lambda: len(batches_of_one()) >= 30)
    batches = batches_of_one()
    at_home = sum(batch <= {1, 3} for batch in batches)
    assert len(batches) / 2 < at_home < len(batches)


def test_sends_that_are_pipelined_go_to_one_partition_each_by_one_library(tmp_path: Path) -> None:
    bench = Bench(tmp_path, msgspec.structs.replace(WORKLOAD, pipelined=True))
    bench.run_until(lambda: bench.count("send", OK) >= 20)
    bench.journals.close()
    sends = [o.value for o in bench.operations("send") if o.type is INVOKE]
    assert all(len({partition for partition, _ in one}) == 1 for one in sends)
    assert len({partition for one in sends for partition, _ in one}) == WORKLOAD.partitions
    assert {what for what in bench.log.made if "producer" in what} == {"confluent-kafka producer"}


KILLED_IN_MID_FLIGHT = """
import os, signal, sys
from pathlib import Path
from harness.record.journal import Clock, Journals
from harness.vocabulary import LogWorkload
from harness.workloads.context import LogContext
from harness.workloads.load import Load
from harness.workloads.log import log_workers
from tests.harness.fakes.log import FakeLog
log = FakeLog(2)
log.on_send = lambda record: os.kill(os.getpid(), signal.SIGKILL)
workload = LogWorkload(producers=1, consumers=0, partitions=2)
load = Load(log_workers(LogContext(workload, Journals(Path(sys.argv[1]), "run", Clock()), log)))
load.start()
signal.pause()
"""


def test_an_invocation_is_on_disk_before_its_request_leaves(tmp_path: Path) -> None:
    """Otherwise a killed harness would make the checker see records that nobody sent."""
    command = [sys.executable, "-W", "ignore", "-c", KILLED_IN_MID_FLIGHT, str(tmp_path)]
    ended = subprocess.run(command, check=False, timeout=120, cwd=Path(__file__).parents[3])
    assert ended.returncode == -signal.SIGKILL
    _, line = (tmp_path / "history-worker-0.jsonl").read_bytes().splitlines()
    operation = msgspec.json.decode(line, type=Operation)
    assert (operation.type, len(operation.value)) == (INVOKE, 4)


class TestAddedPartitions:
    """Four partitions become six while the load goes on."""

    @staticmethod
    def grown(folder: Path, **workload: Any) -> Bench:
        bench = Bench(folder, msgspec.structs.replace(WORKLOAD, **workload))
        bench.log.partitions += [[], []]
        return bench

    @staticmethod
    def written(bench: Bench) -> dict[int, set[int]]:
        """Partitions that each worker sent to, by its number."""
        found: dict[int, set[int]] = {}
        for operation in bench.operations("send"):
            worker_number = int(operation.process) % bench.context.workers
            found.setdefault(worker_number, set()).update(entry[0] for entry in operation.value)
        return found

    @staticmethod
    def cut(bench: Bench) -> list[Operation]:
        return [operation for operation in bench.operations("send") if operation.type is INFO]

    def test_they_are_written_and_read_from_their_beginnings(self, tmp_path: Path) -> None:
        bench = self.grown(tmp_path)
        bench.load.start()
        wait_until(lambda: bench.count("send", OK) >= 10 and bench.count("poll", OK) >= 10)
        assert all(partitions <= {0, 1, 2, 3} for partitions in self.written(bench).values())
        bench.context.sizes.grew("log-0", 6)
        wait_until(lambda: all(partitions >= {4, 5} for partitions in self.written(bench).values()))
        wait_until(lambda: {4, 5} <= {partition for partition, *_ in polled(bench.operations("poll"))})
        bench.load.stop(BOUND_S)
        bench.journals.close()
        assert bench.log.closed == len(bench.log.made)
        for number in (2, 3):
            mine = [o for o in bench.operations("poll") if int(o.process) % bench.context.workers == number]
            for partition in range(6):
                offsets = [offset for p, offset, _ in polled(mine) if p == partition]
                assert offsets == list(range(len(offsets)))

    def test_whoever_gets_another_client_is_another_process(self, tmp_path: Path) -> None:
        bench = self.grown(tmp_path)
        bench.load.start()
        wait_until(lambda: {o.process for o in bench.operations("send")} == {0, 1})
        wait_until(lambda: {o.process for o in bench.operations("assign")} == {2, 3})
        bench.context.sizes.grew("log-0", 6)
        wait_until(lambda: len({o.process for o in bench.operations("send")}) == 4)
        wait_until(lambda: len({o.process for o in bench.operations("assign")}) == 4)
        bench.load.stop(BOUND_S)
        bench.journals.close()
        operations = bench.operations()
        assert {o.process for o in operations if o.type is INFO} == set()
        for number in range(4):
            later = [o for o in operations if o.process == number + bench.context.workers]
            before = [o for o in operations if o.process == number]
            assert before[-1].time_ns <= later[0].time_ns

    def test_half_of_the_producers_keep_their_clients(self, tmp_path: Path) -> None:
        bench = self.grown(tmp_path, producers=4, consumers=0)
        bench.load.start()
        wait_until(lambda: len(self.written(bench)) == 4)
        bench.context.sizes.grew("log-0", 6)
        wait_until(lambda: all(self.written(bench)[number] >= {4, 5} for number in (0, 1)))
        assert all(self.written(bench)[number] <= {0, 1, 2, 3} for number in (2, 3))
        bench.log.on_send = lambda _record: SendResult(INFO, error="cut")
        wait_until(lambda: len({int(o.process) % bench.context.workers for o in self.cut(bench)}) == 4)
        bench.log.on_send = lambda _record: None
        wait_until(lambda: all(self.written(bench)[number] >= {4, 5} for number in (2, 3)))
        bench.load.stop(BOUND_S)
        bench.journals.close()
