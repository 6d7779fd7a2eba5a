"""What clients were answered against the disks: final reads, and the ends of transactions."""

from collections.abc import Sequence
from typing import Any

import pytest

from checkers.evidence.replicas import batches_of
from checkers.history.operations import Operation, OperationType
from checkers.logs.replicas.judging import check_replicas
from checkers.logs.replicas.markers import markers_of
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.logs.replicas.replica_histories import (
    SETUP,
    TOPIC_ID,
    Batch,
    history_of,
    leads,
    metadata,
    observed,
    replica,
)

INVOKE, OK, FAIL, INFO = OperationType.INVOKE, OperationType.OK, OperationType.FAIL, OperationType.INFO
UNCOMMITTED, COMMITTED = "read_uncommitted", "read_committed"
TRANSACTIONAL, MARKER = 0x10, 0x30
ABORT, COMMIT = 0, 1
TWO = {"topics": [{"name": "log-0", "topic_id": TOPIC_ID, "partitions": 2}]}


def sent(offset: int, count: int = 1, *, producer: int = 7, epoch: int = 0) -> Batch:
    return Batch(offset, count, producer_id=producer, producer_epoch=epoch, attributes=TRANSACTIONAL)


def marker(offset: int, kind: int, *, producer: int = 7, epoch: int = 0) -> Batch:
    return Batch(offset, producer_id=producer, producer_epoch=epoch, attributes=MARKER, control=kind)


LOG = (Batch(0, 3), sent(3, 2), marker(5, COMMIT), sent(6), Batch(7), marker(8, ABORT), Batch(9))
DATA = (0, 1, 2, 3, 4, 6, 7, 9)
VISIBLE = (0, 1, 2, 3, 4, 7, 9)


def read(
    offsets: Sequence[int],
    isolation: str = UNCOMMITTED,
    *,
    end: int = 10,
    start: int = 0,
    kind: OperationType = OK,
    partition: int = 0,
) -> list[Operation]:
    """A final read; the value of a record is its offset and partition."""
    asked = {"client": "c", "isolation": isolation, "partition": partition}
    records = [[partition, list(offsets), [100 * partition + offset for offset in offsets]]]
    answer = {**asked, "start": start, "end": end, "position": end, "records": records}
    who = f"reader-{isolation}-{partition}"
    return [
        Operation(0, 2, who, INVOKE, "final-read", "log-0", asked),
        Operation(0, 3, who, kind, "final-read", "log-0", answer),
    ]


def in_sync(partitions: int = 1, isr: Sequence[int] = (1, 2)) -> Operation:
    states = [
        {"topic": "log-0", "partition": number, "leader": 1, "isr": list(isr)} for number in range(partitions)
    ]
    return Operation(0, 1, "runner", OK, "recover", "log-0", {"partitions": states})


def judged(
    *reads: list[Operation], log: Any = LOG, others: Sequence[Operation] = (), **setup: Any
) -> CheckerResult:
    value = log if isinstance(log, dict) else replica(log)
    read_operations = [operation for each in reads for operation in each]
    logs = [observed(node, value) for node in ("n1", "n2")]
    return check_replicas(history_of(*others, in_sync(), *read_operations, *logs, setup=setup))


class TestFinalReads:
    def test_what_is_on_disk_is_read_and_nothing_else(self) -> None:
        result = judged(read(DATA), read(VISIBLE, COMMITTED))
        assert result.validity is Validity.VALID
        assert result.figures["final_reads_compared"] == 2
        assert result.figures["offsets_compared"] == len(DATA) + len(VISIBLE)

    @pytest.mark.parametrize(
        ("offsets", "isolation", "offset", "there"),
        [
            ((*DATA, 5), UNCOMMITTED, 5, "a control batch from 5 to 5"),
            ((*VISIBLE, 6), COMMITTED, 6, "a batch from 6 to 6 of a transaction that was aborted"),
            ((*VISIBLE, 8), COMMITTED, 8, "a control batch from 8 to 8"),
        ],
    )
    def test_an_offset_that_has_no_such_record_is_found(
        self, offsets: Sequence[int], isolation: str, offset: int, there: str
    ) -> None:
        result = judged(read(offsets, isolation))
        assert result.counts == {"read-not-on-disk": 1}
        (found,) = result.anomalies
        assert found.subject == f"log-0/0@{offset}"
        assert found.summary.endswith(f"where n1 has {there}")
        assert len(found.witness) == 2

    def test_an_offset_without_a_batch_is_found(self) -> None:
        result = judged(read(DATA), log=[batch for batch in LOG if batch.base_offset != 7])
        assert result.counts == {"read-not-on-disk": 1, "offset-gap": 1}
        assert "where n1 has no batch" in result.anomalies[-1].summary

    @pytest.mark.parametrize(
        ("offsets", "isolation", "offset", "there"),
        [
            ((0, 2, 3, 4, 6, 7, 9), UNCOMMITTED, 1, "a batch from 0 to 2"),
            ((0, 1, 2, 3, 4, 7, 9), UNCOMMITTED, 6, "of a transaction that was aborted"),
            ((0, 1, 2, 3, 7, 9), COMMITTED, 4, "of a transaction that was committed"),
            ((0, 1, 2, 3, 4, 7), COMMITTED, 9, "a batch from 9 to 9"),
        ],
    )
    def test_a_record_that_was_passed_over_is_found(
        self, offsets: Sequence[int], isolation: str, offset: int, there: str
    ) -> None:
        result = judged(read(offsets, isolation))
        assert result.counts == {"on-disk-not-read": 1}
        (found,) = result.anomalies
        assert found.subject == f"log-0/0@{offset}"
        assert there in found.explanation[-1]

    def test_the_order_of_what_is_returned_does_not_matter(self) -> None:
        assert judged(read((*DATA[::-1], 0))).counts == {}

    def test_a_reader_that_came_past_an_open_transaction_is_found(self) -> None:
        log = (Batch(0), sent(1), Batch(2))
        result = judged(read((0, 2), COMMITTED, end=3), log=log)
        assert result.counts == {"transaction-without-marker": 1}
        assert "of a transaction that no marker ends" in result.anomalies[0].explanation[-1]
        assert judged(read((0,), COMMITTED, end=1), read((0, 1, 2), end=3), log=log).counts == {}
        found = judged(read((0, 1, 2), COMMITTED, end=3), log=log).counts
        assert found == {"read-not-on-disk": 1, "transaction-without-marker": 1}

    def test_a_read_that_did_not_reach_the_end_is_not_compared(self) -> None:
        result = judged(read((), kind=INFO))
        assert result.figures["final_reads_compared"] == 0

    def test_below_the_start_and_above_the_end_nothing_is_compared(self) -> None:
        assert judged(read((6, 7), start=6, end=8)).counts == {}
        later = replica(LOG, log_start=6)
        assert judged(read((0, 1, 2, 6, 7, 9)), log=later).counts == {"short-replica": 2}

    @pytest.mark.parametrize("of", ["compacted", "damaged", "unread"])
    def test_logs_that_say_less_are_not_compared(self, of: str) -> None:
        topic = {**SETUP["topics"][0], "config": {"cleanup.policy": "compact"}}
        setup = {"topics": [topic]} if of == "compacted" else {}
        log: Any = replica(LOG, corrupt=[["0.log", 61, 3, "x"]]) if of == "damaged" else LOG
        isr = (3,) if of == "unread" else (1, 2)
        history = history_of(
            in_sync(isr=isr), *read((0,)), observed("n1", replica(LOG) if log is LOG else log)
        )
        if setup:
            history = history_of(in_sync(), *read((0,)), observed("n1", replica(LOG)), setup=setup)
        assert check_replicas(history).figures["final_reads_compared"] == 0

    @pytest.mark.parametrize("unclean", [True, False])
    def test_an_unclean_election_since_may_have_truncated(self, *, unclean: bool) -> None:
        topic = {"name": "log-0", "topicId": TOPIC_ID}
        partition = {"partitionId": 0, "topicId": TOPIC_ID}
        made = {**partition, "leader": 1, "leaderEpoch": 0, "isr": [1, 2], "replicas": [1, 2]}
        change = {**partition, "leader": 2, "isr": [2], **({"leaderRecoveryState": 1} if unclean else {})}
        records = [[0, 1, "TOPIC_RECORD", topic], [1, 1, "PARTITION_RECORD", made]]
        records += [[2, 1, "PARTITION_CHANGE_RECORD", change]]
        log = observed("n1", metadata([Batch(0, 3)], records=records))
        result = judged(read(DATA[1:]), others=[log, leads("n1", 2)])
        assert ("on-disk-not-read" in result.counts) is not unclean

    def test_what_another_reader_read_is_another_matter(self) -> None:
        both = history_of(
            in_sync(2),
            *read(DATA),
            *read((0, 1), partition=1, end=2),
            *read((0,), COMMITTED, partition=1, end=2),
            observed("n1", replica(LOG)),
            observed("n2", replica(LOG)),
            observed("n1", replica([Batch(0, 2)], partition=1)),
            observed("n2", replica([Batch(0, 2)], partition=1)),
            setup=TWO,
        )
        (found,) = check_replicas(both).anomalies
        assert found.subject == "log-0/1@1"


def test_a_partition_whose_log_is_damaged_leaves_the_others_to_be_compared() -> None:
    damaged = replica([Batch(0)], partition=1, corrupt=[["0.log", 61, 1, "x"]])
    recorded = history_of(
        in_sync(2),
        *read(DATA[1:]),
        *read((), partition=1, end=1),
        *(observed(node, value) for node in ("n1", "n2") for value in (replica(LOG), damaged)),
        setup=TWO,
    )
    assert check_replicas(recorded).counts == {"corrupt-batch": 2, "on-disk-not-read": 1}


def txn(
    *sends: tuple[int, int, int | None],
    kind: OperationType | None = OK,
    end: str = "commit",
    name: str = "t-1",
) -> list[Operation]:
    """A transaction that sends values to partitions, at offsets."""
    asked = {"client": "c", "end": end, "consumed": []}
    mops = [["send", "log-0", partition, value] for partition, value, _ in sends]
    begun = Operation(0, 0, 7, INVOKE, "txn", name, {**asked, "mops": mops})
    if kind is None:
        return [begun]
    ended = {OK: "commit", FAIL: "abort"}.get(kind)
    acknowledged = [["send", "log-0", partition, value, offset] for partition, value, offset in sends]
    return [begun, Operation(0, 0, 7, kind, "txn", name, {**asked, "mops": acknowledged, "ended": ended})]


class TestMarkers:
    ENDS = (sent(0), marker(1, COMMIT))
    ABORTED = (sent(0), marker(1, ABORT))

    def result_of(
        self, transaction: list[Operation], *logs: Sequence[Batch], others: Sequence[Operation] = ()
    ) -> CheckerResult:
        reads = [
            read(
                [o for b in log if b.control < 0 for o in range(b.base_offset, b.last_offset + 1)],
                end=log[-1].last_offset + 1,
                partition=number,
            )
            for number, log in enumerate(logs)
        ]
        held = [
            observed(node, replica(log, partition=number))
            for number, log in enumerate(logs)
            for node in ("n1", "n2")
        ]
        ended = [operation for each in reads for operation in each]
        return check_replicas(
            history_of(
                *transaction, *others, in_sync(len(logs)), *ended, *held, setup=TWO if logs[1:] else {}
            )
        )

    def test_each_batch_is_ended_by_the_next_marker_of_its_producer(self) -> None:
        log = [
            sent(0),
            sent(1, producer=8),
            marker(2, COMMIT),
            sent(3),
            Batch(4),
            marker(5, ABORT, epoch=1),
            sent(6),
            marker(7, ABORT, producer=8),
        ]
        (held,) = batches_of(history_of(observed("n1", replica(log)))).logs
        assert markers_of(held).tolist() == [2, 7, -1, 5, -1, -1, -1, -1]

    @pytest.mark.parametrize(
        ("kind", "end", "log"),
        [
            (OK, "commit", ENDS),
            (FAIL, "abort", ABORTED),
            (FAIL, "commit", ABORTED),
            (INFO, "commit", ENDS),
            (INFO, "commit", ABORTED),
            (None, "commit", ENDS),
        ],
    )
    def test_what_goes_with_the_answer_is_valid(
        self, kind: OperationType | None, end: str, log: Sequence[Batch]
    ) -> None:
        result = self.result_of(txn((0, 1, 0), kind=kind, end=end), log)
        assert result.counts == {}
        assert result.figures["markers_compared"] == (kind is not None)

    def test_a_commit_that_was_aborted_is_found(self) -> None:
        result = self.result_of(txn((0, 1, 0)), self.ABORTED)
        assert result.counts == {"marker-against-answer": 1}
        (found,) = result.anomalies
        assert found.summary == (
            "a transaction whose commit was acknowledged (operation 1) has the abort marker at 1 of log-0/0"
        )
        assert len(found.witness) == 3

    def test_an_abort_that_was_committed_is_found_once_for_all_its_records(self) -> None:
        transaction = txn((0, 1, 0), (0, 2, 1), kind=FAIL, end="abort")
        result = self.result_of(transaction, [sent(0, 2), marker(2, COMMIT)])
        assert result.counts == {"marker-against-answer": 1}
        assert "that did not commit" in result.anomalies[0].summary

    def test_markers_that_differ_are_found(self) -> None:
        parts = ((0, 1, 0), (1, 2, 0))
        result = self.result_of(txn(*parts, kind=INFO), self.ENDS, self.ABORTED)
        assert result.counts == {"markers-differ": 1}
        assert len(result.anomalies[0].witness) == 4
        assert self.result_of(txn(*parts, kind=INFO), self.ENDS, self.ENDS).counts == {}
        assert self.result_of(txn(*parts), self.ENDS, self.ABORTED).counts == {"marker-against-answer": 1}

    @pytest.mark.parametrize(
        ("kinds", "log", "number"),
        [
            pytest.param((OK, OK), (sent(0), sent(1), marker(2, COMMIT)), 1, id="two commits"),
            pytest.param((OK, FAIL), (sent(0), sent(1), marker(2, COMMIT)), 1, id="a commit and an abort"),
            pytest.param((INFO, OK), (sent(0), sent(1), marker(2, COMMIT)), 0, id="the first is not known"),
            pytest.param((OK, OK), (sent(0), sent(1)), 0, id="no marker yet"),
            pytest.param((OK, OK), (sent(0), sent(1, producer=8), marker(2, COMMIT)), 0, id="two producers"),
        ],
    )
    def test_a_marker_ends_one_transaction(
        self, kinds: tuple[OperationType, OperationType], log: Sequence[Batch], number: int
    ) -> None:
        first, second = txn((0, 1, 0), kind=kinds[0]), txn((0, 2, 1), kind=kinds[1])
        result = self.result_of([*first, *second], log)
        assert result.counts.get("marker-shared", 0) == number
        if number:
            found = next(each for each in result.anomalies if each.id == "marker-shared")
            assert found.summary == (
                "log-0/0 has no marker between a transaction whose commit was acknowledged (operation 1) and "
                "the next one (operation 3): the marker at 2 ends both"
            )
            assert found.witness[:3] == (1, 2, 3)

    def test_a_marker_between_two_transactions_is_what_must_be(self) -> None:
        log = (sent(0), marker(1, COMMIT), sent(2), marker(3, COMMIT))
        assert self.result_of([*txn((0, 1, 0)), *txn((0, 2, 2))], log).counts == {}

    def test_records_without_an_offset_or_a_batch_tell_nothing(self) -> None:
        transaction = txn((0, 1, None), (0, 2, 40), kind=INFO)
        assert self.result_of(transaction, self.ENDS).figures["markers_compared"] == 0

    @pytest.mark.parametrize("topics", [True, False])
    def test_where_a_log_may_have_been_truncated_nothing_is_compared(self, *, topics: bool) -> None:
        """The partition's own, or that of the states of transactions."""
        asked = {"partitions": [["log-0", 0]] if topics else [["__transaction_state", 0]], "to": "n1"}
        elect = Operation(0, 0, "admin", INVOKE, "elect-leaders", "unclean", asked)
        result = self.result_of(txn((0, 1, 0)), self.ABORTED, others=[elect])
        assert result.counts == {}
        assert result.figures["markers_compared"] == 0

    def test_deleted_records_leave_the_rest_to_be_compared(self) -> None:
        asked = Operation(0, 0, "admin", INVOKE, "delete-records", "log-0", [[0, 0]])
        result = self.result_of(txn((0, 1, 0)), self.ABORTED, others=[asked])
        assert result.counts == {"marker-against-answer": 1}
