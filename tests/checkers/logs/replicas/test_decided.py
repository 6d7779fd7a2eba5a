"""Markers on disk against the decisions in the coordinators' logs."""

from collections.abc import Sequence
from typing import Any

import pytest

from checkers.columns.tables import NEVER
from checkers.evidence.coordinators import number_of
from checkers.history.operations import History, Operation, OperationType
from checkers.licences.internal import Loss
from checkers.logs.replicas import coordinated
from checkers.logs.replicas.judging import check_replicas
from checkers.verdict.verdict import CheckerResult
from tests.checkers.logs.replicas.replica_histories import (
    SETUP,
    TOPIC_ID,
    Batch,
    history_of,
    metadata,
    observed,
)
from tests.checkers.logs.replicas.replica_histories import replica as replica_of
from tests.checkers.logs.replicas.test_transaction_epochs import aborted_by_hand, log_of, read_to
from tests.checkers.transactional.states.state_histories import (
    ABORTED,
    ABORTING,
    COMMITTED,
    COMMITTING,
    EMPTY,
    ONGOING,
    TOPIC,
    Record,
    states,
)

UNDECIDED, UNMARKED = "marker-without-decision", "completed-without-marker"
STATES_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
BEGUN = (Record(EMPTY), Record(ONGOING, partitions=[0]))
COMMIT = (*BEGUN, Record(COMMITTING, 1, 7, [0]), Record(COMMITTED, 1))
ABORT = (*BEGUN, Record(ABORTING, 1, 7, [0]), Record(ABORTED, 1))
DATA = ("d", 0)


def created(partitions: int, *, removed: bool = False) -> dict[str, Any]:
    """A metadata log with the run's topic and the topic of states."""
    records: list[list[Any]] = []
    for topic, topic_id, number in (("log-0", TOPIC_ID, 1), (TOPIC, STATES_ID, partitions)):
        records.append([len(records), 1, "TOPIC_RECORD", {"name": topic, "topicId": topic_id}])
        for each in range(number):
            partition = {"partitionId": each, "topicId": topic_id, "leader": 1, "leaderEpoch": 0}
            partition |= {"replicas": [1, 2], "isr": [1, 2]}
            records.append([len(records), 1, "PARTITION_RECORD", partition])
    if removed:
        records.append([len(records), 1, "REMOVE_TOPIC_RECORD", {"topicId": TOPIC_ID}])
    return metadata([Batch(0, len(records) - 1)], records=records)


def judged(
    log: Sequence[Batch],
    *coordinators: dict[str, Any],
    others: Sequence[Operation] = (),
    partitions: int = 1,
    removed: bool = False,
    fields: dict[str, Any] | None = None,
    **setup: Any,
) -> CheckerResult:
    """Two nodes have this log; the coordinators' logs are those."""
    state = {"topic": "log-0", "partition": 0, "leader": 1, "isr": [1, 2]}
    topic = {"name": "log-0", "topic_id": TOPIC_ID, "partitions": 1}
    return check_replicas(
        history_of(
            Operation(0, 1, "runner", OperationType.OK, "recover", "log-0", {"partitions": [state]}),
            *read_to(log[-1].last_offset + 1, 0),
            *others,
            *(observed(node, replica_of(log, partition=0, **(fields or {}))) for node in ("n1", "n2")),
            *(observed_states(value) for value in coordinators),
            observed_metadata(created(partitions, removed=removed)),
            setup={**SETUP, "topics": [topic], **setup},
        )
    )


def observed_states(value: dict[str, Any]) -> Operation:
    return Operation(
        0, 9, "observer-replicas", OperationType.OK, "observe", "transaction-states", value, node="n1"
    )


def observed_metadata(value: dict[str, Any]) -> Operation:
    return Operation(0, 9, "observer-replicas", OperationType.OK, "observe", "metadata-log", value, node="n1")


def found(result: CheckerResult) -> list[str]:
    return [anomaly.id for anomaly in result.anomalies if anomaly.id in {UNDECIDED, UNMARKED}]


def coordinator(*records: Record, settled: int | None = 99, **changes: Any) -> dict[str, Any]:
    return states(*records, settled=settled, **changes)


@pytest.mark.parametrize(
    ("log", "records", "ids"),
    [
        ([DATA, ("c", 1)], COMMIT, []),
        ([DATA, ("a", 1)], ABORT, []),
        ([DATA, ("c", 1), ("c", 1)], COMMIT, []),
        ([DATA, ("c", 1)], COMMIT[:-1], []),
        ([DATA], COMMIT[:-1], []),
        ([DATA, ("c", 1)], COMMIT[:-2], [UNDECIDED]),
        ([DATA, ("a", 1)], COMMIT, [UNDECIDED, UNMARKED]),
        ([DATA, ("c", 2)], COMMIT, [UNDECIDED, UNMARKED]),
        ([DATA], ABORT, [UNMARKED]),
        ([DATA, ("c", 1)], (), [UNDECIDED]),
        ([DATA], (*COMMIT[:-1], Record(COMMITTED, 0, 8)), []),
        ([DATA], (*BEGUN, Record(COMMITTING, 1, 7, [0], 8), Record(COMMITTED, 0, 8)), [UNMARKED]),
        ([DATA], (Record(EMPTY), Record(ABORTING, 1), Record(ABORTED, 1)), []),
        ([DATA], (*BEGUN, Record(COMMITTING, 1, 7, [3]), Record(COMMITTED, 1)), []),
        ([DATA], (*BEGUN, Record(COMMITTING, 1, 7, [0], topic="x"), Record(COMMITTED, 1)), []),
        ([DATA], (*COMMIT, COMMIT[-1]), [UNMARKED]),
    ],
)
def test_decisions_and_markers(log: list[tuple[str, int]], records: Sequence[Record], ids: list[str]) -> None:
    result = judged(log_of(*log), coordinator(*records))
    assert sorted(found(result)) == sorted(ids)


def test_what_a_marker_is_compared_with() -> None:
    result = judged(log_of(DATA, ("c", 1)), coordinator(*COMMIT))
    assert (result.figures["markers_with_states"], result.figures["completed_parts"]) == (2, 1)
    (anomaly,) = judged(log_of(DATA, ("c", 1)), coordinator(*ABORT[:-1])).anomalies
    assert anomaly.summary == (
        "log-0/0 has a commit marker of producer 7 in epoch 1 at 1, and no coordinator has decided so"
    )
    assert anomaly.explanation[1] == (
        "The last decisions of that producer in __transaction_state-0 are: abort in epoch 1 (offset 2)."
    )
    (other,) = judged(log_of(DATA, ("a", 1), producer=8), coordinator(*COMMIT[:-1])).anomalies
    assert "has an abort marker of producer 8" in other.summary
    assert other.explanation[1] == "No coordinator's log has a decision of that producer."


def test_a_completion_that_may_have_come_after_the_replicas_were_read() -> None:
    assert found(judged(log_of(DATA), coordinator(*COMMIT, settled=4))) == [UNMARKED]
    assert found(judged(log_of(DATA), coordinator(*COMMIT, settled=3))) == []
    assert found(judged(log_of(DATA), coordinator(*COMMIT, settled=None))) == []


def moved(*records: Record, by: int) -> list[Record]:
    """These records at later offsets."""
    return [record._replace(offset=place + by) for place, record in enumerate(records)]


EARLY, LATE = Record(EMPTY, 0), Record(EMPTY, 4)
"""Records of the producer with lower epochs than the marker's, and with certainly higher ones."""


@pytest.mark.parametrize(
    ("records", "changes", "ids"),
    [
        ([*BEGUN], {}, [UNDECIDED]),
        ([*BEGUN], {"end": 3}, []),
        ([], {"end": 3}, []),
        (moved(*BEGUN, by=1), {}, [UNDECIDED]),
        ([EARLY, LATE], {"end": 9}, [UNDECIDED]),
        ([EARLY, *moved(LATE, by=2)], {}, []),
        (moved(LATE, by=2), {}, []),
        (moved(LATE, by=0), {"end": 9}, [UNDECIDED]),
        (moved(Record(EMPTY, 1), by=2), {}, []),
        ([EARLY, LATE._replace(epoch=3)], {"end": 9}, []),
        (moved(*BEGUN, by=1), {"error": "gone"}, []),
    ],
)
def test_a_decision_is_missed_only_where_no_record_is_missing(
    records: Sequence[Record], changes: dict[str, Any], ids: list[str]
) -> None:
    """The marker has epoch 1; another partition's log was not gathered."""
    one = coordinator(*records, **changes)
    assert found(judged(log_of(DATA, ("c", 1)), one, partitions=2)) == ids


@pytest.mark.parametrize("coordinators", [[], [coordinator(Record(EMPTY, producer=8))]])
def test_the_decision_of_a_producer_that_no_log_has_may_be_anywhere(
    coordinators: list[dict[str, Any]],
) -> None:
    log = log_of(DATA, ("c", 1))
    assert found(judged(log, *coordinators, partitions=2)) == []
    both = [coordinator(Record(EMPTY, producer=8)), coordinator(partition=1)]
    assert found(judged(log, *both, partitions=2)) == [UNDECIDED]


@pytest.mark.parametrize(
    ("records", "ids"),
    [
        (moved(*COMMIT, by=3), [UNMARKED]),
        ([Record(EMPTY), *moved(*COMMIT[2:], by=3)], [UNMARKED]),
        ([*COMMIT[:3], *moved(COMMIT[3], by=9)], []),
    ],
)
def test_a_completion_counts_if_nothing_is_missing_since_the_decision(
    records: Sequence[Record], ids: list[str]
) -> None:
    assert found(judged(log_of(DATA), coordinator(*records))) == ids


@pytest.mark.parametrize(
    ("epoch", "ids"),
    [(None, []), (0, [UNMARKED]), (1, [UNMARKED]), (2, []), (3, [UNMARKED]), (4, [UNMARKED])],
)
def test_a_loss_is_a_gap_in_its_partition(
    monkeypatch: pytest.MonkeyPatch, epoch: int | None, ids: list[str]
) -> None:
    """The completion was appended in leader epoch 2, the records before it in epoch 1."""
    records = [record._replace(leader_epoch=1 + (record is COMMIT[3])) for record in COMMIT]
    observations = [coordinator(*records), coordinator(partition=1)]

    def losses(_: History, __: str, partition: int | None = None) -> tuple[Loss, ...]:
        return () if partition == 1 else (Loss("a loss", NEVER, 0, epoch),)

    monkeypatch.setattr(coordinated, "losses", losses)
    assert found(judged(log_of(DATA), *observations, partitions=2)) == ids
    assert UNDECIDED not in found(judged(log_of(DATA, ("a", 1)), *observations, partitions=2))


def test_a_loss_in_another_partition_excuses_no_marker(monkeypatch: pytest.MonkeyPatch) -> None:
    def losses(_: History, __: str, partition: int | None = None) -> tuple[Loss, ...]:
        return () if partition == 0 else (Loss("a loss", NEVER),)

    monkeypatch.setattr(coordinated, "losses", losses)
    observations = [coordinator(*COMMIT), coordinator(partition=1)]
    assert sorted(found(judged(log_of(DATA, ("a", 1)), *observations, partitions=2))) == [UNMARKED, UNDECIDED]


def test_all_coordinators_count() -> None:
    logs = [coordinator(*COMMIT[:-2]), coordinator(*COMMIT, partition=1)]
    assert found(judged(log_of(DATA, ("c", 1)), *logs, partitions=2)) == []


INITIALISED = (
    Operation(0, 0, 7, OperationType.INVOKE, "init-transactions", "t", {"client": "c"}),
    Operation(0, 0, 7, OperationType.OK, "init-transactions", "t", {"client": "c", "producer_id": 7}),
)
"""Producer 7 is initialised for an id that is in partition 0 of two."""


@pytest.mark.parametrize(
    ("observations", "others", "lost_in", "judges"),
    [
        ([coordinator(*BEGUN)], (), 1, True),
        ([coordinator(*BEGUN)], (), 0, False),
        ([coordinator(partition=1)], (), 0, False),
        ([], INITIALISED, 1, True),
        ([], INITIALISED, 0, False),
        ([], INITIALISED[:1], 1, False),
        ([], (), 1, False),
    ],
)
@pytest.mark.parametrize("log", [log_of(DATA, ("c", 2)), log_of(DATA, ("d", 1), ("c", 1))])
def test_epochs_of_producers_in_other_partitions_than_the_loss_are_judged(
    monkeypatch: pytest.MonkeyPatch,
    log: list[Batch],
    observations: list[dict[str, Any]],
    others: Sequence[Operation],
    lost_in: int,
    *,
    judges: bool,
) -> None:
    def losses(_: History, __: str, partition: int | None = None) -> tuple[Loss, ...]:
        return (Loss("a loss", NEVER),) if partition in {None, lost_in} else ()

    monkeypatch.setattr(coordinated, "losses", losses)
    assert number_of("t", 2) == 0
    counts = judged(log, *observations, others=others, partitions=2).counts
    assert bool({"marker-of-another-transaction", "marker-shared"} & counts.keys()) is judges


def test_a_permitted_loss_excuses_all() -> None:
    wrong = log_of(DATA, ("a", 1))
    assert found(judged(wrong, coordinator(*COMMIT))) != []
    assert found(judged(wrong, coordinator(*COMMIT), others=[lost()])) == []


def lost() -> Operation:
    """A fault that wiped the disks of both nodes."""
    value = {"kind": "disk-loss", "targets": ["n1", "n2"]}
    return Operation(0, 2, "nemesis", OperationType.INVOKE, "inject", "disk-loss", value)


def test_an_administrator_may_abort() -> None:
    log = log_of(DATA, ("a", 1))
    assert found(judged(log, coordinator(*BEGUN))) == [UNDECIDED]
    assert found(judged(log, coordinator(*BEGUN), others=[aborted_by_hand(7)])) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"removed": True},
        {"fields": {"corrupt": [["0.log", 0, 0, "wrong"]]}},
        {"config": {"transactional.id.expiration.ms": "1000"}},
    ],
)
def test_logs_that_may_lack_markers(changes: dict[str, Any]) -> None:
    assert UNMARKED not in found(judged(log_of(DATA), coordinator(*COMMIT), **changes))


@pytest.mark.parametrize(
    "changes", [{}, {"fields": {"log_start": 1}}, {"config": {"log.retention.ms": "1000"}}]
)
def test_a_log_from_which_nothing_was_removed_has_all_markers(changes: dict[str, Any]) -> None:
    assert found(judged(log_of(DATA), coordinator(*COMMIT), **changes)) == [UNMARKED]


def test_a_log_that_begins_later_or_has_a_gap() -> None:
    late = [batch._replace(base_offset=batch.base_offset + 1) for batch in log_of(DATA, DATA)]
    assert UNMARKED not in found(judged(late, coordinator(*COMMIT)))
    thin = [Batch(0), Batch(5)]
    assert UNMARKED not in found(judged(thin, coordinator(*COMMIT)))
