"""Markers on disk against the decisions in the coordinators' logs."""

from collections.abc import Sequence
from typing import Any

import pytest

from checkers.history.operations import Operation, OperationType
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
    Told,
    states,
)

UNDECIDED, UNMARKED = "marker-without-decision", "completed-without-marker"
STATES_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
BEGUN = (Told(EMPTY), Told(ONGOING, partitions=[0]))
COMMIT = (*BEGUN, Told(COMMITTING, 1, 7, [0]), Told(COMMITTED, 1))
ABORT = (*BEGUN, Told(ABORTING, 1, 7, [0]), Told(ABORTED, 1))
DATA = ("d", 0)


def created(partitions: int, *, removed: bool = False) -> dict[str, Any]:
    """A metadata log with the run's topic and the topic of states."""
    records: list[list[Any]] = []
    for topic, topic_id, number in (("log-0", TOPIC_ID, 1), (TOPIC, STATES_ID, partitions)):
        records.append([len(records), 1, "TOPIC_RECORD", {"name": topic, "topicId": topic_id}])
        for each in range(number):
            told = {"partitionId": each, "topicId": topic_id, "leader": 1, "leaderEpoch": 0}
            told |= {"replicas": [1, 2], "isr": [1, 2]}
            records.append([len(records), 1, "PARTITION_RECORD", told])
    if removed:
        records.append([len(records), 1, "REMOVE_TOPIC_RECORD", {"topicId": TOPIC_ID}])
    return metadata([Batch(0, len(records) - 1)], records=records)


def judged(
    log: Sequence[Batch],
    *coordinators: dict[str, Any],
    others: Sequence[Operation] = (),
    partitions: int = 1,
    removed: bool = False,
    told: dict[str, Any] | None = None,
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
            *(observed(node, replica_of(log, partition=0, **(told or {}))) for node in ("n1", "n2")),
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


def coordinator(*records: Told, settled: int | None = 99, **changes: Any) -> dict[str, Any]:
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
        ([DATA], (*COMMIT[:-1], Told(COMMITTED, 0, 8)), []),
        ([DATA], (*BEGUN, Told(COMMITTING, 1, 7, [0], 8), Told(COMMITTED, 0, 8)), [UNMARKED]),
        ([DATA], (Told(EMPTY), Told(ABORTING, 1), Told(ABORTED, 1)), []),
        ([DATA], (*BEGUN, Told(COMMITTING, 1, 7, [3]), Told(COMMITTED, 1)), []),
        ([DATA], (*BEGUN, Told(COMMITTING, 1, 7, [0], topic="x"), Told(COMMITTED, 1)), []),
        ([DATA], (*COMMIT, COMMIT[-1]), [UNMARKED]),
    ],
)
def test_decisions_and_markers(log: list[tuple[str, int]], records: Sequence[Told], ids: list[str]) -> None:
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


@pytest.mark.parametrize(
    ("coordinators", "partitions"),
    [
        ([], 1),
        ([coordinator(*COMMIT[:-2])], 2),
        ([coordinator(*COMMIT[:-2]), coordinator(partition=1, end=3)], 2),
        ([coordinator(*COMMIT[:-2], end=3)], 1),
        ([coordinator(*(told._replace(offset=n + 1) for n, told in enumerate(COMMIT[:-2])))], 1),
        ([coordinator(*COMMIT[:-2])], 0),
    ],
)
def test_without_all_records_nothing_is_compared(coordinators: list[dict[str, Any]], partitions: int) -> None:
    assert found(judged(log_of(DATA, ("c", 1)), *coordinators, partitions=partitions)) == []


def test_all_coordinators_count() -> None:
    logs = [coordinator(*COMMIT[:-2]), coordinator(*COMMIT, partition=1)]
    assert found(judged(log_of(DATA, ("c", 1)), *logs, partitions=2)) == []


def test_a_permitted_loss_excuses_all() -> None:
    wrong = log_of(DATA, ("a", 1))
    assert found(judged(wrong, coordinator(*COMMIT))) != []
    assert found(judged(wrong, coordinator(*COMMIT), others=[lost()])) == []


def lost() -> Operation:
    """A fault that wiped the disks of both nodes."""
    told = {"kind": "disk-loss", "targets": ["n1", "n2"]}
    return Operation(0, 2, "nemesis", OperationType.INVOKE, "inject", "disk-loss", told)


def test_an_administrator_may_abort() -> None:
    log = log_of(DATA, ("a", 1))
    assert found(judged(log, coordinator(*BEGUN))) == [UNDECIDED]
    assert found(judged(log, coordinator(*BEGUN), others=[aborted_by_hand(7)])) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"removed": True},
        {"told": {"log_start": 1}},
        {"told": {"corrupt": [["0.log", 0, 0, "wrong"]]}},
        {"config": {"transactional.id.expiration.ms": "1000"}},
        {"config": {"log.retention.ms": "1000"}},
    ],
)
def test_logs_that_may_lack_markers(changes: dict[str, Any]) -> None:
    assert UNMARKED not in found(judged(log_of(DATA), coordinator(*COMMIT), **changes))


def test_a_log_that_begins_later_or_has_a_gap() -> None:
    late = [batch._replace(base_offset=batch.base_offset + 1) for batch in log_of(DATA, DATA)]
    assert UNMARKED not in found(judged(late, coordinator(*COMMIT)))
    thin = [Batch(0), Batch(5)]
    assert UNMARKED not in found(judged(thin, coordinator(*COMMIT)))
