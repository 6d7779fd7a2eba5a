"""Transactions that nobody ends in time: what is asked for, in which order, and what the history has."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec
import pytest
from kafka.protocol.admin import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from kafka.protocol.metadata import FindCoordinatorResponse
from kafka.protocol.producer import (
    AddPartitionsToTxnResponse,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kafka.record import MemoryRecords

from checkers.administration.descriptions import check_descriptions
from checkers.history.operations import Operation, OperationType
from checkers.history.reading import read_history
from checkers.verdict.verdict import Validity
from harness.record.journal import Clock, Journals
from harness.vocabulary import TxnWorkload
from harness.workloads import txn_timeouts
from harness.workloads.context import WorkloadContext
from harness.workloads.txn_timeouts import TimeoutCase, TransactionTimeoutWorker
from tests.harness.fakes.broker import COORDINATOR, PRODUCE
from tests.harness.fakes.coordinator import ADD_PARTITIONS, FakeCoordinatorBroker
from tests.harness.fakes.log import FakeLog
from tests.harness.fakes.node import METADATA
from tests.harness.waiting import BOUND_S, wait_until

OK, FAIL, INFO, INVOKE = OperationType.OK, OperationType.FAIL, OperationType.INFO, OperationType.INVOKE
MARKERS, PRODUCERS, TRANSACTIONS = 27, 61, 65
NOT_LEADER = 6
OLD_EPOCH = 47
NUMBER = 12


class Broker(FakeCoordinatorBroker):
    """Describes, and takes markers.

    Attributes:
        begun: whether its transaction is open.
        describe_error: Kafka's code for descriptions.
        marker_error: Kafka's code for markers.
    """

    def __init__(self) -> None:
        super().__init__()
        self.begun = True
        self.describe_error = 0
        self.marker_error = 0
        self.coordinator_error = 0
        self.add_errors = [0]
        self.versions |= {MARKERS: 1, PRODUCERS: 0, TRANSACTIONS: 0}
        self.requests |= {
            MARKERS: WriteTxnMarkersRequest,
            PRODUCERS: DescribeProducersRequest,
            TRANSACTIONS: DescribeTransactionsRequest,
        }
        known, added = self.answers[METADATA], self.answers[ADD_PARTITIONS]

        def metadata(request: Any) -> Any:
            answer = known(request)
            answer.topics[0].name, answer.topics[0].topic_id = "txn-0", UUID(int=5)
            return answer

        def add(request: Any) -> Any:
            answer = added(request)
            error = self.add_errors.pop(0) if len(self.add_errors) > 1 else self.add_errors[0]
            result = (
                AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult.AddPartitionsToTxnPartitionResult
            )
            for each in answer.results_by_topic_v3_and_below:
                each.results_by_partition = [
                    result(partition_index=one.partition_index, partition_error_code=error)
                    for one in each.results_by_partition
                ]
            return answer

        self.answers |= {
            METADATA: metadata,
            ADD_PARTITIONS: add,
            COORDINATOR: self._found,
            MARKERS: self._marked,
            PRODUCERS: self._producers,
            TRANSACTIONS: self._transactions,
        }

    def _found(self, _request: Any) -> Any:
        host, port = self.address
        return FindCoordinatorResponse(
            throttle_time_ms=0, error_code=self.coordinator_error, node_id=1, host=host, port=port
        )

    def _marked(self, request: Any) -> Any:
        (marker,) = request.markers
        assert (marker.producer_id, marker.producer_epoch, marker.coordinator_epoch) == (7, 3, 0)
        assert not marker.transaction_result
        self.begun = bool(self.marker_error)
        one = WriteTxnMarkersResponse.WritableTxnMarkerResult
        topic = one.WritableTxnMarkerTopicResult
        partition = topic.WritableTxnMarkerPartitionResult(partition_index=0, error_code=self.marker_error)
        return WriteTxnMarkersResponse(
            markers=[one(producer_id=7, topics=[topic(name="txn-0", partitions=[partition])])]
        )

    def _producers(self, request: Any) -> Any:
        topic = DescribeProducersResponse.TopicResponse
        partition = topic.PartitionResponse
        mine, others = (
            partition.ProducerState(
                producer_id=number,
                producer_epoch=3,
                last_sequence=0,
                last_timestamp=1,
                coordinator_epoch=-1,
                current_txn_start_offset=40 if self.begun else -1,
            )
            for number in (7, 8)
        )
        (number,) = request.topics[0].partition_indexes
        answer = partition(
            partition_index=number,
            error_code=self.describe_error,
            active_producers=[] if self.describe_error else [others, mine],
        )
        return DescribeProducersResponse(
            throttle_time_ms=0, topics=[topic(name="txn-0", partitions=[answer])]
        )

    def _transactions(self, request: Any) -> Any:
        state = DescribeTransactionsResponse.TransactionState
        answer = state(
            error_code=self.describe_error,
            transactional_id=request.transactional_ids[0],
            transaction_state="Ongoing",
            transaction_timeout_ms=1,
            transaction_start_time_ms=1,
            producer_id=7,
            producer_epoch=3,
            topics=[state.TopicData(topic="txn-0", partitions=[0, 1])],
        )
        return DescribeTransactionsResponse(throttle_time_ms=0, transaction_states=[answer])


class Bench:
    """A worker of one broker, and what it recorded."""

    def __init__(self, folder: Path, broker: Broker) -> None:
        self.folder, self.broker = folder, broker
        self.journals = Journals(folder, "run", Clock())
        workload = TxnWorkload(partitions=2, lapsing_timeout_ms=30, lapsing_interval_ms=5)
        context = WorkloadContext(workload, self.journals, FakeLog(2), (broker.bootstrap,))
        self.worker = TransactionTimeoutWorker(context, NUMBER)

    def completions(self) -> list[tuple[OperationType, str]]:
        return [(o.type, o.f) for o in self.operations() if o.type is not INVOKE]

    def operations(self) -> tuple[Operation, ...]:
        return read_history(self.folder).operations

    def txn(self) -> Operation:
        return next(o for o in reversed(self.operations()) if o.f == "txn")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    quick = {"_RETRY_PAUSE_S": 0.001, "_SETTLE_S": (0, 0.01), "_LATE_S": (0, 0.01)}
    for name, value in quick.items():
        monkeypatch.setattr(txn_timeouts, name, value)
    with Broker() as broker:
        made = Bench(tmp_path, broker)
        yield made
        made.journals.close()


def test_one_that_is_left_alone_is_looked_at_while_it_is_open(bench: Bench) -> None:
    bench.worker.do_once(TimeoutCase.LEFT)
    look = [(OK, "describe-transaction"), (OK, "describe-producer"), (OK, "describe-producer")]
    assert bench.completions() == [(OK, "init-transactions"), (FAIL, "txn"), *look]
    init = next(o for o in bench.operations() if o.type is OK)
    assert init.value == {"client": "raw", "timeout_ms": 30, "producer_id": 7, "epoch": 3}
    value = bench.txn().value
    assert bench.txn().error == "its commit was never asked for"
    assert sorted(mop[2] for mop in value["mops"]) == [0, 1]
    assert {mop[4] for mop in value["mops"]} == {40}
    assert (value["coordinator"], value["leaders"]) == (1, {"0": 1, "1": 1})
    assert bench.broker.ended == []
    result = check_descriptions(read_history(bench.folder))
    assert (result.validity, result.figures["transactions_described"]) == (Validity.VALID, 1)


def test_one_that_an_administrator_aborts_is_looked_at_before_and_after_each_marker(bench: Bench) -> None:
    bench.worker.do_once(TimeoutCase.ABORTED_BY_ADMIN)
    marker = [(OK, "describe-producer"), (OK, "abort-transaction"), (OK, "describe-producer")]
    assert bench.completions()[5:] == [*marker, *marker]
    last = bench.operations()[-1].value
    assert (last["start_offset"], last["known"], last["to"]) == (-1, True, 1)


def test_a_marker_that_is_refused_may_be_there(bench: Bench) -> None:
    bench.broker.marker_error = 6
    bench.worker.do_once(TimeoutCase.ABORTED_BY_ADMIN)
    assert (INFO, "abort-transaction") in bench.completions()


@pytest.mark.parametrize(
    ("error", "fate", "ended"), [(0, OK, "commit"), (90, FAIL, None), (7, INFO, None), (None, INFO, None)]
)
def test_a_commit_that_comes_too_late_ends_as_it_is_answered(
    bench: Bench, error: int | None, fate: OperationType, ended: str | None
) -> None:
    bench.broker.end_errors = [error]
    bench.worker.do_once(TimeoutCase.COMMITTED_LATE)
    operation = bench.txn()
    assert (operation.type, operation.value["ended"]) == (fate, ended)
    assert operation.value["ending_ns"] > operation.value["sent_ns"]
    assert bench.broker.ended == [True]


def test_what_is_sent_too_late_is_recorded_by_itself(bench: Bench) -> None:
    answers, errors = bench.broker.answers[PRODUCE], [0, 0, OLD_EPOCH, OLD_EPOCH]

    def produced(request: Any) -> Any:
        bench.broker.produce_error = errors.pop(0)
        return answers(request)

    bench.broker.answers[PRODUCE] = produced
    bench.worker.do_once(TimeoutCase.SENT_LATE)
    assert errors == []
    first, late = [o for o in bench.operations() if o.f == "txn" and o.type is not INVOKE]
    assert late.time_ns >= first.time_ns + 30_000_000, "after its timeout"
    assert sorted(mop[2] for mop in late.value["mops"]) == [0, 1]
    assert {mop[4] for mop in late.value["mops"]} == {None}
    assert (late.type, late.error) == (FAIL, "its commit was never asked for")
    assert {"sent_ns", "ending_ns"}.isdisjoint(late.value), "when it ended nobody knows"
    values = [mop[3] for operation in (first, late) for mop in operation.value["mops"]]
    assert len(set(values)) == 4
    result = check_descriptions(read_history(bench.folder))
    assert (result.validity, result.figures["transactions_described"]) == (Validity.VALID, 1)


def test_late_records_follow_upon_the_first_of_their_partition(bench: Bench) -> None:
    sequences: list[int] = []
    answers = bench.broker.answers[PRODUCE]

    def produced(request: Any) -> Any:
        batch = MemoryRecords(request.topic_data[0].partition_data[0].records).next_batch()
        sequences.append(batch.base_sequence)
        return answers(request)

    bench.broker.answers[PRODUCE] = produced
    bench.worker.do_once(TimeoutCase.SENT_LATE)
    assert sequences == [0, 0, 1, 1]


def test_where_the_first_is_not_nothing_is_sent_late(bench: Bench) -> None:
    bench.broker.produce_error = 6
    bench.worker.do_once(TimeoutCase.SENT_LATE)
    assert [type_ for type_, f in bench.completions() if f == "txn"] == [FAIL]


def test_a_worker_that_is_to_stop_sends_nothing_late(bench: Bench) -> None:
    bench.worker.stopping.set()
    bench.worker.do_once(TimeoutCase.SENT_LATE)
    assert [type_ for type_, f in bench.completions() if f == "txn"] == [FAIL]


def test_a_worker_that_is_to_stop_asks_for_no_commit(bench: Bench) -> None:
    bench.worker.stopping.set()
    bench.worker.do_once(TimeoutCase.COMMITTED_LATE)
    assert (bench.txn().type, bench.txn().value["ending_ns"]) == (FAIL, None)
    assert bench.broker.ended == []


def test_a_transaction_with_a_record_that_was_not_acknowledged_is_not_committed(bench: Bench) -> None:
    answers, errors = bench.broker.answers[PRODUCE], [0, NOT_LEADER]

    def produced(request: Any) -> Any:
        bench.broker.produce_error = errors.pop(0)
        return answers(request)

    bench.broker.answers[PRODUCE] = produced
    bench.worker.do_once(TimeoutCase.COMMITTED_LATE)
    assert [mop[4] is None for mop in bench.txn().value["mops"]] == [False, True]
    assert (bench.txn().type, bench.txn().value["ending_ns"]) == (FAIL, None)
    assert bench.broker.ended == []


def test_what_too_early_is_asked_again(bench: Bench) -> None:
    bench.broker.add_errors = [51, 14, 0, 15, 0]
    bench.worker.do_once(TimeoutCase.LEFT)
    assert bench.txn().value["ended"] is None
    assert "sent_ns" in bench.txn().value


@pytest.mark.parametrize("error", [48, 51])
def test_where_no_partition_is_added_nothing_is_sent(bench: Bench, error: int) -> None:
    bench.broker.add_errors = [error]
    bench.worker.do_once(TimeoutCase.LEFT)
    assert bench.txn().type is FAIL
    assert bench.txn().error == f"a partition was not added: error {error}"
    assert PRODUCE not in {key for key, _ in bench.broker.asked}


@pytest.mark.slow
def test_a_coordinator_that_does_not_answer_leaves_it_open(bench: Bench) -> None:
    bench.broker.answers[ADD_PARTITIONS] = lambda _: None
    bench.worker.do_once(TimeoutCase.LEFT)
    assert "timed out" in (bench.txn().error or "")
    bench.broker.init_error = None
    bench.worker.do_once(TimeoutCase.LEFT)
    assert bench.completions()[-1] == (INFO, "init-transactions")
    bench.broker.init_error = 53
    bench.worker.do_once(TimeoutCase.LEFT)
    assert bench.operations()[-1].error == "error 53"


@pytest.mark.slow
def test_records_that_are_not_acknowledged_have_no_offset(bench: Bench) -> None:
    bench.broker.produce_error = None
    bench.worker.do_once(TimeoutCase.LEFT)
    assert {mop[4] for mop in bench.txn().value["mops"]} == {None}


@pytest.mark.slow
def test_descriptions_that_fail_are_recorded_as_failed(bench: Bench) -> None:
    bench.broker.describe_error = 16
    bench.worker.do_once(TimeoutCase.ABORTED_BY_ADMIN)
    assert [type_ for type_, f in bench.completions() if f.startswith("describe")] == [FAIL] * 5
    bench.broker.answers |= {TRANSACTIONS: lambda _: None, PRODUCERS: lambda _: None}
    bench.worker.do_once(TimeoutCase.ABORTED_BY_ADMIN)
    assert "timed out" in (bench.operations()[-1].error or "")
    bench.broker.answers[MARKERS] = lambda _: None
    bench.broker.answers[PRODUCERS] = bench.broker._producers
    bench.broker.describe_error = 0
    bench.worker.do_once(TimeoutCase.ABORTED_BY_ADMIN)
    assert (INFO, "abort-transaction") in bench.completions()


def test_without_a_coordinator_or_a_topic_nothing_is_asked_for(bench: Bench) -> None:
    bench.broker.coordinator_error = 15
    bench.worker.do_once(TimeoutCase.LEFT)
    bench.broker.coordinator_error = 0
    del bench.broker.answers[METADATA]
    bench.broker.answers[METADATA] = lambda _: None
    bench.worker.do_once(TimeoutCase.LEFT)
    assert bench.completions() == []


def test_it_continues_until_it_is_stopped(bench: Bench) -> None:
    bench.worker.start()
    wait_until(lambda: len(bench.completions()) > 40)
    bench.worker.stopping.set()
    bench.worker.join(BOUND_S)
    assert bench.worker.failure is None
    assert not bench.worker.is_alive()
    names = {o.key for o in bench.operations() if o.f == "txn"}
    assert names <= {f"lapse-{number}" for number in range(8)}
    msgspec.json.encode(bench.operations())
