"""Batches of an old producer epoch: what is sent to whom, and what the history has of each answer."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from kafka.protocol.producer import InitProducerIdResponse
from kafka.record import MemoryRecords

from checkers.history.operations import Operation, OperationType
from checkers.history.reading import read_history
from checkers.judge import judge
from checkers.verdict.verdict import Validity
from harness.record.journal import Clock, Journals
from harness.vocabulary import CopyWorkload, TxnWorkload
from harness.workloads import old_epochs
from harness.workloads.context import WorkloadContext
from harness.workloads.old_epochs import OldEpochWorker
from harness.workloads.worker import join_all
from tests.harness.fakes.broker import INIT_PRODUCER_ID, PRODUCE, FakeBroker
from tests.harness.fakes.log import FakeLog
from tests.harness.fakes.node import METADATA
from tests.harness.waiting import BOUND_S, wait_until

OK, FAIL, INFO, INVOKE = OperationType.OK, OperationType.FAIL, OperationType.INFO, OperationType.INVOKE
OLD_EPOCH, FENCED, NOT_ENOUGH_REPLICAS, TIMED_OUT = 47, 90, 19, 7
NUMBER = 14
Sent = tuple[int, int, int, bool]
"""Producer id, epoch and sequence number of a batch, and whether it is transactional."""


class Leader(FakeBroker):
    """Leads ``txn-0``, and answers each Produce in turn as the test decides.

    Attributes:
        errors: Kafka's codes for each Produce in turn, the last of them for ever; None: it hangs up.
        init_error: Kafka's code for InitProducerId.
        leads: who leads, as it says.
        topic: what the topic that it knows is called.
        sent: the batches that came.
    """

    def __init__(self) -> None:
        super().__init__()
        self.errors: list[int | None] = [0]
        self.init_error = 0
        self.leads = 1
        self.topic = "txn-0"
        self.sent: list[Sent] = []
        known, produced = self.answers[METADATA], self.answers[PRODUCE]

        def metadata(request: Any) -> Any:
            answer = known(request)
            answer.topics[0].name, answer.topics[0].topic_id = self.topic, UUID(int=5)
            for partition in answer.topics[0].partitions:
                partition.leader_id = self.leads
            return answer

        def produce(request: Any) -> Any:
            (data,) = request.topic_data[0].partition_data
            batch = MemoryRecords(data.records).next_batch()
            assert batch is not None
            numbers = batch.producer_id, batch.producer_epoch, batch.base_sequence
            self.sent.append((*numbers, bool(batch.is_transactional)))
            assert (request.transactional_id, request.acks) == (None, -1)
            self.produce_error = self.errors.pop(0) if len(self.errors) > 1 else self.errors[0]
            self.base_offset += 1
            if self.produce_error is None:
                self.hang_up()
            return produced(request)

        def initialise(request: Any) -> Any:
            assert request.transactional_id is None
            return InitProducerIdResponse(
                throttle_time_ms=0, error_code=self.init_error, producer_id=7, producer_epoch=0
            )

        self.answers |= {METADATA: metadata, PRODUCE: produce, INIT_PRODUCER_ID: initialise}


class Bench:
    """A worker of one broker, and what it recorded."""

    def __init__(self, folder: Path, leader: Leader) -> None:
        self.folder, self.leader = folder, leader
        self.journals = Journals(folder, "run", Clock())
        workload = TxnWorkload(partitions=2, old_epochs_interval_ms=5)
        context = WorkloadContext(workload, self.journals, FakeLog(2), (leader.bootstrap,))
        self.worker = OldEpochWorker(context, NUMBER)

    def operations(self) -> tuple[Operation, ...]:
        return read_history(self.folder).operations

    def ended(self) -> list[tuple[OperationType, str | None]]:
        assert {o.f for o in self.operations()} <= {"send"}
        return [(o.type, o.error) for o in self.operations() if o.type is not INVOKE]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(old_epochs, "_WAIT_S", (0, 0.01))
    with Leader() as leader:
        made = Bench(tmp_path, leader)
        yield made
        made.journals.close()


@pytest.mark.parametrize("code", [OLD_EPOCH, FENCED])
def test_the_old_epoch_is_sent_after_the_new_one_and_was_not_appended_if_refused(
    bench: Bench, code: int
) -> None:
    bench.leader.errors = [0, code]
    bench.worker.do_once()
    assert bench.leader.sent == [(7, 1, 0, False), (7, 0, 0, False)]
    assert bench.ended() == [(OK, None), (FAIL, f"[Error {code}] (an old producer epoch, sent once)")]
    new, old = (o for o in bench.operations() if o.type is not INVOKE)
    assert new.key == old.key == "txn-0"
    ((partition, value, offset, outcome),) = new.value
    assert (offset, outcome) == (41, "ok")
    assert old.value == [[partition, value + 1, None, "fail"]]
    assert value == NUMBER * 10**9 + 1


def test_an_old_epoch_that_a_leader_accepts_is_recorded_as_appended(bench: Bench) -> None:
    bench.worker.do_once()
    assert bench.ended() == [(OK, None), (OK, None)]


@pytest.mark.parametrize(
    ("code", "kind"), [(NOT_ENOUGH_REPLICAS, FAIL), (TIMED_OUT, INFO), (None, INFO), (12345, INFO)]
)
def test_after_a_new_epoch_that_is_not_acknowledged_nothing_old_is_sent(
    bench: Bench, code: int | None, kind: OperationType
) -> None:
    bench.leader.errors = [code]
    bench.worker.do_once()
    assert [epoch for _, epoch, *_ in bench.leader.sent] == [1]
    ((ended, error),) = bench.ended()
    assert ended is kind
    assert error is not None
    assert code is None or error.startswith(f"[Error {code}] (")


@pytest.mark.parametrize("error", [0, 15])
def test_without_a_producer_id_nothing_is_sent(bench: Bench, error: int) -> None:
    bench.leader.init_error = error
    if not error:
        bench.leader.answers[INIT_PRODUCER_ID] = lambda _request: bench.leader.hang_up()
    bench.worker.do_once()
    assert bench.operations() == ()
    assert bench.leader.sent == []


@pytest.mark.parametrize(("topic", "leads"), [("other-0", 1), ("txn-0", -1), ("txn-0", 2)])
def test_without_a_leader_nothing_left(bench: Bench, topic: str, leads: int) -> None:
    bench.leader.topic, bench.leader.leads = topic, leads
    bench.worker.do_once()
    assert bench.leader.sent == []
    ((kind, error),) = bench.ended()
    assert kind is FAIL
    assert error is not None
    assert error.startswith("no connection, nothing sent: ")


def test_a_producer_whose_worker_is_stopped_sends_nothing_old(bench: Bench) -> None:
    bench.worker.stopping.set()
    bench.worker.do_once()
    assert [epoch for _, epoch, *_ in bench.leader.sent] == [1]


def test_the_worker_continues_until_it_is_stopped_and_its_history_is_valid(bench: Bench) -> None:
    bench.leader.errors = [0, OLD_EPOCH, 0, OLD_EPOCH, 0]
    bench.worker.start()
    wait_until(lambda: len(bench.leader.sent) > 4)
    bench.worker.stopping.set()
    assert join_all([bench.worker], BOUND_S) == []
    verdict = judge(read_history(bench.folder))
    assert verdict.validity is not Validity.INVALID


@pytest.mark.parametrize("workload", [TxnWorkload(), CopyWorkload()])
def test_it_is_the_last_process_of_transactional_workloads(workload: TxnWorkload | CopyWorkload) -> None:
    assert workload.processes > workload.first_transactor + workload.transactors
    assert workload.old_epochs_interval_ms > 0
