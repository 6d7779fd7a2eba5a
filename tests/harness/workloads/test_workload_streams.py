"""Members of an application are started, closed and killed; the last one processes what is left."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec
import pytest

from checkers.history.fitting import misfit_of
from checkers.history.operations import Operation, OperationType
from checkers.history.streams import Counted
from harness.clients import ClientFailedError, ClientKind, Isolation, LogConsumer, Message, ReadError
from harness.clients.java.process import StartCancelledError
from harness.clients.streams import RUNNING, StreamsOptions, StreamsStatus
from harness.clients.transactional import GroupOptions
from harness.record.journal import Clock, Journals
from harness.vocabulary import StreamsWorkload
from harness.workloads import streams, streams_end
from harness.workloads.consuming import ConsumerWorker
from harness.workloads.context import WorkloadContext
from harness.workloads.opening import implementation_of
from harness.workloads.producing import ProducerWorker
from harness.workloads.streams import MemberWorker, StreamsContext
from harness.workloads.streams_end import StreamsEnd, decoded
from harness.workloads.values import ValueCodec
from harness.workloads.worker import join_all
from tests.harness.fakes.log import FakeConsumer, FakeLog
from tests.harness.recorded import recorded
from tests.harness.waiting import BOUND_S, StandingTime, wait_until

OK, FAIL, INFO, INVOKE = OperationType.OK, OperationType.FAIL, OperationType.INFO, OperationType.INVOKE
WORKLOAD = StreamsWorkload(partitions=2, life_min_ms=20, life_max_ms=40)


class FakeMember:
    """A member that runs at once, and processes everything when it is asked for the first time."""

    def __init__(self, application: "FakeApplication", name: str) -> None:
        self._application = application
        self._name = name

    def status(self) -> StreamsStatus:
        if self._application.silent:
            raise ReadError("no answer")
        self._application.process(self._name)
        return StreamsStatus(RUNNING, 7)

    def kill(self) -> None:
        self._application.ended.append((self._name, "kill"))

    def close(self, timeout_s: float) -> None:
        assert timeout_s > 0
        self._application.ended.append((self._name, "close"))
        if self._application.stuck:
            raise ClientFailedError("it did not close")


class FakeApplication(FakeLog):
    """The topics of an application, its group's offsets, and its members."""

    def __init__(self) -> None:
        super().__init__(2)
        self.topics = {name: FakeLog(2) for name in ("streams-in", "streams-out", WORKLOAD.changelog)}
        self.committed = {0: 0, 1: 0}
        self.hidden = 0
        self.silent = False
        self.stuck = False
        self.slow = False
        self.refuses = 0
        self.asked: list[str] = []
        self.ended: list[tuple[str, str]] = []
        self.on_hidden: Callable[[], None] = lambda: None
        self.on_ask: Callable[[], Exception | None] = lambda: None

    def consumer(self, kind: ClientKind, topic: str, isolation: Isolation) -> LogConsumer:
        del kind
        hidden = self.hidden if isolation is Isolation.READ_COMMITTED and topic == "streams-out" else 0
        return _Consumer(self.topics[topic], hidden, self.on_hidden)

    def streams_member(self, options: StreamsOptions, cancelled: threading.Event) -> FakeMember:
        self.asked.append(options.member)
        if self.slow:
            assert cancelled.wait(BOUND_S)
        if cancelled.is_set():
            raise StartCancelledError
        if self.refuses:
            self.refuses -= 1
            raise ClientFailedError("not now")
        assert (options.source, options.target) == ("streams-in", "streams-out")
        return FakeMember(self, options.member)

    def process(self, member: str) -> None:
        for partition, records in enumerate(self.topics["streams-in"].partitions):
            for offset in range(self.committed[partition], len(records)):
                counted = Counted(member, partition, offset, "1", 1, (records[offset] or b"").decode())
                self.topics["streams-out"].partitions[partition].append(msgspec.json.encode(counted))
            self.committed[partition] = len(records)

    def ask(
        self, options: GroupOptions, partitions: Iterable[int], timeout_s: float
    ) -> dict[int, int | None]:
        assert (options.group, timeout_s > 0) == ("streams-0", True)
        error = self.on_ask()
        if error is not None:
            raise error
        return {partition: self.committed[partition] or None for partition in partitions}


class _Consumer(FakeConsumer):
    """A consumer for which the last records are hidden by an open transaction."""

    def __init__(self, log: FakeLog, hidden: int, on_hidden: Callable[[], None]) -> None:
        super().__init__(log)
        self._hidden = hidden
        self._on_hidden = on_hidden

    def offsets(self, partitions: Iterable[int], timeout_s: float) -> dict[int, tuple[int, int]]:
        found = super().offsets([*partitions], timeout_s)
        if self._hidden:
            self._on_hidden()
        return {partition: (first, end - self._hidden) for partition, (first, end) in found.items()}


class Bench:
    """An application with ten records to count in each partition, and the history."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.application = FakeApplication()
        for partition, records in enumerate(self.application.topics["streams-in"].partitions):
            records += [f"run:{partition + 1}{n}".encode() for n in range(10)]
        self.journals = Journals(folder, "run", Clock())
        self.context: StreamsContext = WorkloadContext(
            WORKLOAD, self.journals, self.application, ("localhost:1",)
        )

    def operations(self, f: str, kind: OperationType | None = None) -> list[Operation]:
        found = [o for o in recorded(self.folder) if o.f == f and kind in {None, o.type}]
        assert [misfit_of(one) for one in found] == [None] * len(found)
        return found

    def end(self, within_s: float = 200.0) -> list[str]:
        worker = StreamsEnd(self.context, time.monotonic() + within_s, self.application.ask)
        worker.start()
        return join_all([worker], BOUND_S)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(streams, "_STATUS_PAUSE_S", 0.005)
    monkeypatch.setattr(streams, "_REMAKE_PAUSE_S", 0.005)
    monkeypatch.setattr(streams_end, "_PAUSE_S", 0.005)
    made = Bench(tmp_path)
    yield made
    made.journals.close()


def work(bench: Bench, enough: Callable[[], bool], index: int = 0) -> None:
    worker = MemberWorker(bench.context, index)
    worker.start()
    wait_until(enough)
    worker.stopping.set()
    assert join_all([worker], BOUND_S) == []


def test_the_load_has_producers_consumers_and_members(bench: Bench) -> None:
    workers = implementation_of(WORKLOAD).workers(bench.context)
    kinds = [type(worker) for worker in workers]
    assert kinds == [ProducerWorker] * 4 + [ConsumerWorker] + [MemberWorker] * 3
    assert len(workers) == WORKLOAD.processes
    (last,) = implementation_of(WORKLOAD).final_workers(bench.context, time.monotonic())
    assert isinstance(last, StreamsEnd)


def test_members_are_closed_and_killed_and_the_history_says_so(bench: Bench) -> None:
    ended = bench.application.ended
    work(bench, lambda: {how for _, how in ended} == {"close", "kill"} and len(ended) > 4)
    assert len({name for name, _ in ended}) == len(ended)
    assert ended[0][0] == "streams-0-5-1"
    told = [(o.value["member"], o.value["how"]) for o in bench.operations("end-member", OK)]
    assert told == ended
    assert ended[-1][1] == "close"
    (first, *_) = bench.operations("streams-status", OK)
    assert first.value == {
        "member": "streams-0-5-1",
        "last": False,
        "state": "RUNNING",
        "processed": 7,
        "exception": None,
    }


def test_a_member_that_does_not_answer_is_replaced(bench: Bench) -> None:
    bench.application.silent = True
    work(bench, lambda: len(bench.application.ended) > 2)
    assert not bench.operations("streams-status", OK)
    assert bench.operations("streams-status", FAIL)[0].error == "no answer"


def test_a_member_that_does_not_close_is_no_complaint(bench: Bench) -> None:
    bench.application.stuck = True
    work(bench, lambda: bool(bench.application.asked))
    assert bench.operations("end-member", INFO)[-1].error == "it did not close"


def test_a_member_that_was_not_made_is_made_again(bench: Bench) -> None:
    bench.application.refuses = 2
    work(bench, lambda: bool(bench.application.ended))
    assert bench.application.asked[:3] == ["streams-0-5-1", "streams-0-5-2", "streams-0-5-3"]
    failed = bench.operations("streams-status", FAIL)[:2]
    assert [(o.value["member"], o.error) for o in failed] == [
        ("streams-0-5-1", "it was not made: not now"),
        ("streams-0-5-2", "it was not made: not now"),
    ]


def test_no_member_starts_after_the_end(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = MemberWorker(bench.context, 0)
    ended = [False, True]
    monkeypatch.setattr(worker.stopping, "is_set", lambda: ended.pop(0) if ended else True)
    worker.start()
    assert join_all([worker], BOUND_S) == []
    assert not bench.operations("streams-status")


def test_the_last_member_processes_what_is_left_and_the_output_is_read(bench: Bench) -> None:
    assert bench.end() == []
    answers = [o.value["offsets"] for o in bench.operations("committed-offsets", OK)]
    assert answers[0] == [[0, None], [1, None]]
    assert answers[-1] == answers[-2] == [[0, 10], [1, 10]]
    assert bench.application.ended == [("streams-0-last", "close")]
    assert {o.value["last"] for o in bench.operations("streams-status", OK)} == {True}
    first, second = bench.operations("read-output", OK)
    assert (first.key, first.value["end"], second.value["partition"]) == ("streams-out", 10, 1)
    assert first.value["records"][3] == [3, "streams-0-last", 0, 3, "1", 1, 13]
    ends = {(o.key, o.value["partition"]): o.value["end"] for o in bench.operations("list-end", OK)}
    assert ends == {
        ("streams-out", 0): 10,
        ("streams-out", 1): 10,
        (WORKLOAD.changelog, 0): 0,
        (WORKLOAD.changelog, 1): 0,
    }
    order = [o.f for o in recorded(bench.folder) if o.type is OK]
    assert order.index("committed-offsets") < order.index("streams-status") < order.index("read-output")
    assert len(order) - 1 - order[::-1].index("committed-offsets") > order.index("read-output")


def test_an_output_that_an_open_transaction_hides_is_not_read(bench: Bench) -> None:
    worker = StreamsEnd(bench.context, time.monotonic() + 200, bench.application.ask)
    bench.application.hidden = 1
    bench.application.on_hidden = lambda: setattr(worker, "_deadline", 0.0)
    worker.start()
    assert join_all([worker], BOUND_S) == []
    errors = [o.error for o in bench.operations("read-output", FAIL)]
    assert errors == ["a transaction is open: the last stable offset is 9, the end 10", "no time was left"]
    assert not bench.operations("read-output", OK)
    assert len(bench.operations("list-end", FAIL)) == 4


def test_an_output_whose_end_is_unknown_is_asked_for_again_after_a_pause(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = StreamsEnd(bench.context, time.monotonic() + 200.0, bench.application.ask)
    pauses: list[float] = []

    def unknown(_topic: str, _partition: int) -> str:
        return "no leader"

    def pause(timeout: float) -> bool:
        pauses.append(timeout)
        monkeypatch.setattr(worker, "_deadline", 0.0)
        return False

    monkeypatch.setattr(worker, "_limits", unknown)
    monkeypatch.setattr(worker.stopping, "wait", pause)
    worker._read_output(0)
    assert [o.error for o in bench.operations("read-output", FAIL)] == ["no leader"]
    assert len(pauses) == 1


def test_offsets_that_are_unknown_at_first_are_asked_for_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unstable() -> ReadError | None:
        if bench.application.asked:
            return None
        standing.go_on(streams_end._FIRST_OFFSETS_S)
        return ReadError("unstable")

    standing = StandingTime(time.monotonic())
    monkeypatch.setattr(streams_end, "time", standing)
    bench.application.on_ask = unstable
    assert bench.end() == []
    assert [o.error for o in bench.operations("committed-offsets", INFO)] == ["unstable"]
    assert bench.operations("committed-offsets", OK)[-1].value["offsets"] == [[0, 10], [1, 10]]


def test_a_last_member_that_was_not_made_is_reported(bench: Bench) -> None:
    bench.application.refuses = 1
    (complaint,) = bench.end()
    assert complaint.startswith("streams-end: the last member was not made: ")
    assert "not now" in complaint
    assert bench.operations("read-output", OK)[0].value["records"] == []


def test_a_last_member_that_starts_too_late_is_not_awaited(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams_end, "_KEPT_S", 0.9)
    monkeypatch.setattr(streams_end, "_KEPT_FOR_OUTPUT_S", 0.5)
    bench.application.slow = True
    (complaint,) = bench.end(1.5)
    assert "StartCancelledError" in complaint


def test_what_the_application_did_not_write_is_foreign() -> None:
    good = msgspec.json.encode(Counted("m", 0, 5, "3", 2, "run:8"))
    other = msgspec.json.encode(Counted("m", 0, 6, "3", 3, "else"))
    messages = [Message(0, 1, good), Message(0, 2, b"{}"), Message(0, 3, None), Message(0, 4, other)]
    rows, foreign = decoded(messages, ValueCodec("run"))
    assert rows == [(1, "m", 0, 5, "3", 2, 8), (4, "m", 0, 6, "3", 3, "else")]
    assert foreign == [(2, "{}"), (3, "(null)")]
