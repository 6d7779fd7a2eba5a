"""The dead-letter queue of a share group is read, with the headers that brokers added."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from kafka.record import MemoryRecordsBuilder

from checkers.history.fitting import misfit_of
from checkers.history.operations import Operation, OperationType
from harness.record.journal import Clock, Journals
from harness.vocabulary import ShareWorkload
from harness.workloads import shares_letters
from harness.workloads.context import WorkloadContext
from harness.workloads.shares import ShareContext
from harness.workloads.shares_drain import ShareDrain, share_final_workers
from harness.workloads.shares_letters import DeadLetterReader
from harness.workloads.worker import Worker, join_all
from tests.harness.fakes.broker import FETCH, FakeBroker
from tests.harness.fakes.share import FakeShareLog
from tests.harness.recorded import recorded
from tests.harness.waiting import BOUND_S

OK, FAIL = OperationType.OK, OperationType.FAIL
WORKLOAD = ShareWorkload(partitions=1, dead_letters=True)
OURS = [("__dlq.errors.topic", b"shares-0"), ("__dlq.errors.offset", b"7")]


class LettersBroker(FakeBroker):
    """Leads the one partition of a dead-letter queue, and returns one record for each Fetch."""

    def __init__(self) -> None:
        super().__init__(1)
        self.letters: list[tuple[bytes | None, list[tuple[str, bytes]]]] = []

    def _metadata(self, request: Any) -> Any:
        answer = super()._metadata(request)
        answer.topics[0].name = request.topics[0].name
        return answer

    def _fetch(self, request: Any) -> Any:
        self.records = [[b""] * len(self.letters)]
        return super()._fetch(request)

    def _batch(self, partition: int, first: int) -> bytes:
        assert partition == 0
        if self.fetch_error or first >= len(self.letters):
            return b""
        value, headers = self.letters[first]
        builder = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=4096, offset=first)
        builder.append(timestamp=0, key=None, value=value, headers=headers)
        builder.close()
        return bytes(builder.buffer())


class Bench:
    """A queue, its reader, and the history."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.broker = LettersBroker()
        self.journals = Journals(folder, "run", Clock())
        log = FakeShareLog(1)
        self.context: ShareContext = WorkloadContext(WORKLOAD, self.journals, log, (self.broker.bootstrap,))

    def read(self, member: Worker, within_s: float = BOUND_S) -> Operation:
        worker = DeadLetterReader(self.context, 0, time.monotonic() + within_s, member)
        worker.start()
        assert join_all([worker], BOUND_S) == []
        asked, done = (o for o in recorded(self.folder) if o.f == "dead-letters")
        assert [misfit_of(one) for one in (asked, done)] == [None, None]
        assert (asked.key, asked.value) == ("dlq.share-0", {"group": "share-0", "partition": 0})
        return done


class Gone(Worker):
    """A last member that leaves at once."""

    def work(self) -> None:
        pass


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(shares_letters, "_AGAIN_PAUSE_S", 0.005)
    monkeypatch.setattr(shares_letters, "_AFTER_MEMBER_S", 0.05)
    made = Bench(tmp_path)
    yield made
    made.journals.close()
    made.broker.close()


@pytest.fixture
def member() -> Worker:
    gone = Gone("member")
    gone.start()
    return gone


def test_all_records_are_read_with_the_headers_of_brokers(bench: Bench, member: Worker) -> None:
    bench.broker.letters = [(b"run:5", [*OURS, ("mine", b"1")]), (None, OURS)]
    done = bench.read(member)
    headers = {"__dlq.errors.topic": "shares-0", "__dlq.errors.offset": "7"}
    assert done.type is OK
    assert done.value == {
        "group": "share-0",
        "partition": 0,
        "end": 2,
        "records": [[0, headers, 5], [1, headers, None]],
    }


def test_it_is_read_again_after_an_error(bench: Bench, member: Worker) -> None:
    bench.broker.letters = [(b"run:5", OURS)]
    bench.broker.fetch_error = 6
    fetch = bench.broker.answers[FETCH]

    def answers(request: Any) -> Any:
        answer = fetch(request)
        bench.broker.fetch_error = 0
        return answer

    bench.broker.answers[FETCH] = answers
    assert bench.read(member).type is OK


def test_a_queue_that_can_not_be_read_is_recorded_as_such(bench: Bench, member: Worker) -> None:
    bench.broker.fetch_error = 6
    done = bench.read(member, within_s=0.0)
    assert (done.type, done.error) == (FAIL, "Fetch of dlq.share-0/0 answered error 6")


def test_it_is_read_only_after_the_last_member_has_left(bench: Bench) -> None:
    bench.broker.letters = [(b"run:5", OURS)]

    class Late(Worker):
        def work(self) -> None:
            self.stopping.wait(0.2)
            bench.broker.letters.append((b"run:6", OURS))

    late = Late("member")
    late.start()
    assert bench.read(late).value["end"] == 2


@pytest.mark.parametrize(
    ("workload", "kinds"), [(WORKLOAD, [ShareDrain, DeadLetterReader]), (ShareWorkload(), [ShareDrain])]
)
def test_each_group_with_a_queue_has_a_reader(
    bench: Bench, workload: ShareWorkload, kinds: list[type]
) -> None:
    context = msgspec.structs.replace(bench.context, workload=workload)
    assert [type(worker) for worker in share_final_workers(context, 0.0)] == kinds


def test_the_workload_has_the_queues_as_topics_that_final_readers_leave_out() -> None:
    assert [(topic.name, topic.loaded, topic.read) for topic in WORKLOAD.topics] == [
        ("shares-0", True, True),
        ("dlq.share-0", False, False),
    ]
    assert (WORKLOAD.unread, ShareWorkload().unread) == (frozenset({"dlq.share-0"}), frozenset())
    assert WORKLOAD.versions_min == "4.4.0"
