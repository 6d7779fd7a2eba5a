"""States of transactional ids in the coordinators' log, record by record."""

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.history.transaction_states import EVIDENCE_STATES
from checkers.transactional.states import check_states
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.transactional.states.state_histories import (
    ABORTED,
    ABORTING,
    COMMITTED,
    COMMITTING,
    EMPTY,
    ONGOING,
    REMOVED,
    Record,
    states,
    story_of,
)

ILLEGAL, BACK, DROPPED, START = (
    "transaction-state-illegal",
    "transaction-epoch-back",
    "transaction-partition-dropped",
    "transaction-start-wrong",
)
E, O1, O2 = Record(EMPTY), Record(ONGOING, partitions=[1]), Record(ONGOING, partitions=[1, 2])
PC, PA = Record(COMMITTING, partitions=[1, 2]), Record(ABORTING, partitions=[1, 2])
CC, CA = Record(COMMITTED), Record(ABORTED)
NONE = Record(ABORTING, 1, version=2)


def of(*records: Record, leaders: tuple[int, ...] = (), **changes: Any) -> CheckerResult:
    return check_states(story_of(states(*records, **changes), leaders=leaders).history())


def ids(*records: Record, leaders: tuple[int, ...] = ()) -> list[str]:
    return [anomaly.id for anomaly in of(*records, leaders=leaders).anomalies]


@pytest.mark.parametrize(
    "records",
    [
        [E, O1, O2, PC, CC, O1, O2, PA, CA, E],
        [E, E._replace(epoch=1), O1._replace(epoch=1)],
        pytest.param([E, O1, Record(COMMITTING, 1, 7, [1], version=2), Record(COMMITTED, 1)], id="version 2"),
        pytest.param(
            [E, O1, Record(ABORTING, 1, 7, [1], version=2), Record(ABORTED, 1)], id="abort, version 2"
        ),
        pytest.param([E, O1, Record(ABORTING, 1, 7, [1]), Record(ABORTED, 1)], id="fenced"),
        pytest.param(
            [Record(EMPTY, 32767), Record(ABORTING, 32767, version=2), Record(ABORTED, 32767)],
            id="no epoch left",
        ),
        pytest.param([E, NONE, Record(ABORTED, 1), NONE._replace(epoch=2)], id="no partition"),
        pytest.param(
            [
                Record(EMPTY, 32766),
                Record(ONGOING, 32766, 7, [1]),
                Record(COMMITTING, 32767, 7, [1], next_id=9, version=2),
                Record(COMMITTED, 0, 9),
            ],
            id="next producer id",
        ),
        pytest.param([Record(EMPTY, 32766), Record(EMPTY, 0, 9)], id="rotation"),
        pytest.param([E, Record(REMOVED, -1, -1), Record(EMPTY, 0, 9)], id="expired"),
        pytest.param([E, O1, Record(EMPTY, 0, 9, name="b"), PC._replace(partitions=[1])], id="another id"),
        pytest.param([E, O1, O2._replace(partitions=[2, 1]), PC], id="same partitions"),
        pytest.param([E, O2, PC, PA, CA], id="decision that was not adopted"),
        pytest.param([E, O2, PC, PC, CC], id="decision written again"),
        pytest.param([E, O2, PC, CC, CC, O1], id="completion written again"),
        pytest.param([E, O1, PA._replace(partitions=[1]), O2, PC], id="ongoing still"),
        pytest.param([E, Record(EMPTY, 1), O1], id="initialisation that was not adopted"),
        pytest.param([E, Record(REMOVED, -1, -1), O1], id="expiration that was not adopted"),
    ],
)
def test_what_a_coordinator_may_write(records: list[Record]) -> None:
    assert ids(*records) == []


RESTARTED = O1._replace(updated_ms=9, started_ms=9)


@pytest.mark.parametrize(
    ("records", "found"),
    [
        ([E, O1, O2._replace(updated_ms=9), PC._replace(updated_ms=9), CC, RESTARTED], []),
        ([E, O2, PC, CC, O1._replace(updated_ms=9)], [START]),
        ([O1._replace(started_ms=1)], [ILLEGAL]),
        ([E, O1._replace(started_ms=-1)], [START]),
        ([E, O1, O2._replace(updated_ms=9, started_ms=3)], [START]),
        pytest.param([E, O1, O2._replace(updated_ms=9, started_ms=9)], [], id="a start that was not adopted"),
        ([E, O2, PC._replace(started_ms=9)], [START]),
        ([E, O2, PC, CC._replace(started_ms=9)], [START]),
        ([E, O1, E._replace(started_ms=-1)], []),
        ([E, NONE._replace(started_ms=-1), Record(ABORTED, 1, started_ms=-1)], []),
        ([E, O1, RESTARTED, O2], []),
    ],
)
def test_a_transaction_starts_when_its_first_partition_is_added(
    records: list[Record], found: list[str]
) -> None:
    assert ids(*records) == found


@pytest.mark.parametrize(
    ("records", "found"),
    [
        ([E, PC], [ILLEGAL]),
        ([E, O2, CC], [ILLEGAL]),
        ([E, O2, PC, CA], [ILLEGAL]),
        ([E, O2, PC, CC, PC], [ILLEGAL]),
        ([E, O2, PC, PA, CA, CC], [ILLEGAL]),
        ([E, O2, PC, CC, CA], [ILLEGAL]),
        ([E, O2, PC, CC, O1, CC], [ILLEGAL]),
        ([O1], [ILLEGAL]),
        ([E, O1, E], []),
        (
            [E, O1, PC._replace(partitions=[1]), CC, O1, O1, PC._replace(partitions=[1]), CC, CC, CA],
            [ILLEGAL],
        ),
        ([E, O2, PC, CC, O2, PC, CC, Record(REMOVED, -1, -1), O1, Record(6)], [ILLEGAL]),
        ([Record(EMPTY, 3), Record(ONGOING, 2, 7, [1])], [BACK]),
        ([E, O2, Record(COMMITTING, 0, 8, [1, 2])], [BACK]),
        ([E, O2, PC, Record(COMMITTED, 0, 8)], [BACK]),
        (
            [
                Record(EMPTY, 4),
                Record(ONGOING, 4, 7, [1]),
                Record(COMMITTING, 4, 7, [1]),
                Record(COMMITTED, 3),
            ],
            [BACK],
        ),
        pytest.param([E, O2, PC, Record(COMMITTED, 1)], [BACK], id="completion of a later epoch"),
        pytest.param([E, O2, PC._replace(epoch=1), Record(COMMITTED, 1)], [BACK], id="commit of version 1"),
        pytest.param([E, O2, PC._replace(version=2), CC], [BACK], id="commit of version 2"),
        pytest.param([E, O2, PC._replace(epoch=2, version=2)], [BACK], id="commit raises twice"),
        pytest.param([E, O2, PA._replace(epoch=2)], [BACK], id="abort of version 1 raises twice"),
        pytest.param([E, O2, PA._replace(epoch=3, version=2)], [BACK], id="abort raises three times"),
        pytest.param([E, O2, PA._replace(version=2)], [BACK], id="abort of version 2"),
        pytest.param([E, NONE._replace(version=1)], [ILLEGAL], id="abort of nothing in version 1"),
        pytest.param([E, O1._replace(epoch=1)], [BACK], id="partition added in a later epoch"),
        pytest.param([E, O1, O2._replace(epoch=1)], [BACK], id="another one, in a later epoch"),
        pytest.param([E, O2, PC, CC, Record(EMPTY, 2)], [BACK], id="initialised two epochs on"),
        pytest.param([E, O2, PC, CC, Record(EMPTY, 1, 9)], [BACK], id="new id, old epoch"),
        pytest.param([E, O2, PC._replace(next_id=9), CC], [BACK], id="announced id is not used"),
        pytest.param([E, O2, PC._replace(next_id=9), Record(COMMITTED, 1, 9)], [BACK], id="nor is epoch 0"),
        pytest.param([E, O1, PC], [DROPPED], id="decision with another partition"),
        pytest.param([E, NONE._replace(partitions=[1])], [DROPPED], id="abort of nothing, with a partition"),
        pytest.param([E, O2, PC, CC._replace(partitions=[1])], [DROPPED], id="completion with a partition"),
        pytest.param(
            [E, O2, PC, CC, Record(EMPTY, 1, 7, [1])], [DROPPED], id="nothing ongoing, with a partition"
        ),
        ([E, O2, PC._replace(partitions=[1]), CC], [DROPPED]),
        ([E, O2, PC, CC, O2, PC._replace(partitions=[2]), CC], [DROPPED]),
        ([E, O2, PC, CC, O2, O1, PC, CC], [DROPPED]),
        ([E, O2, PC, CC, O2, O1, PC._replace(partitions=[1]), CC], []),
    ],
)
def test_what_it_never_writes(records: list[Record], found: list[str]) -> None:
    assert ids(*records) == found


@pytest.mark.parametrize(
    ("version", "features", "found"),
    [
        ("4.0.1", {"transaction.version": 2}, []),
        ("4.1.0", {"transaction.version": 2}, [BACK]),
        ("4.3.1", {"transaction.version": 2}, [BACK]),
        pytest.param("4.3.1", {"transaction.version": 1}, [], id="raised after a failed fence"),
        pytest.param("4.3.1", {}, [], id="from version 0"),
    ],
)
def test_since_4_1_an_abort_raises_the_epoch_once(
    version: str, features: dict[str, int], found: list[str]
) -> None:
    records = [E, O1, Record(ABORTING, 2, 7, [1], version=2), Record(ABORTED, 2)]
    result = check_states(story_of(states(*records), kafka_version=version, features=features).history())
    assert [anomaly.id for anomaly in result.anomalies] == found
    once = [E, O1, Record(ABORTING, 1, 7, [1], version=2), Record(ABORTED, 1)]
    story = story_of(states(*once), kafka_version=version, features=features)
    assert not check_states(story.history()).anomalies


def test_a_finding_shows_both_records() -> None:
    result = of(E, O2, PC, CC, CA)
    (anomaly,) = result.anomalies
    assert result.validity is Validity.INVALID
    assert result.figures == {"transactional_ids": 1, "records": 5, "compared": 5}
    assert anomaly.summary == (
        "__transaction_state/0@4: a is CompleteAbort with producer 7 in epoch 0, "
        "after CompleteCommit with producer 7 in epoch 0"
    )
    assert anomaly.explanation[0] == (
        "At offset 3 the state is CompleteCommit, with producer 7 in epoch 0 and the partitions none; "
        "it was written at 2 ms, and the transaction started at 2 ms."
    )
    assert (
        of(E, O2, CC)
        .anomalies[0]
        .explanation[0]
        .endswith("partitions log-0/1, log-0/2; it was written at 2 ms, and the transaction started at 2 ms.")
    )
    assert of(O1).anomalies[0].explanation[0] == "The log has no record of the id before."
    (late,) = of(E, Record(REMOVED, -1, -1), Record(COMMITTED)).anomalies
    assert late.explanation[0] == "At offset 1 the id is deleted."


@pytest.mark.parametrize(
    ("leaders", "epoch", "found"),
    [
        ((1, 2), 1, [ILLEGAL]),
        ((1, 1), 1, []),
        ((1, -1, 1), 2, []),
        ((1, -1, 2), 2, [ILLEGAL]),
        ((1,), 1, []),
        ((), 1, []),
    ],
)
def test_a_new_leader_has_loaded_all_records(leaders: tuple[int, ...], epoch: int, found: list[str]) -> None:
    assert ids(E, O2, PC, PA._replace(leader_epoch=epoch), leaders=leaders) == found


@pytest.mark.parametrize(
    ("records", "found"),
    [
        ([CC, CA], [ILLEGAL]),
        ([PC, CA], []),
        ([O1, PC, CC, CA], [ILLEGAL]),
        ([CC, CC, O1, CC], [ILLEGAL]),
        ([Record(ONGOING, name="b"), Record(COMMITTED, 1), O1], [BACK]),
    ],
)
def test_after_a_gap_an_id_is_judged_from_a_completion_on(records: list[Record], found: list[str]) -> None:
    placed = [record._replace(offset=place + 5) for place, record in enumerate(records)]
    assert ids(*placed) == found
    assert ids(E, *placed) == ids(*placed)


def test_without_records_nothing_was_judged() -> None:
    assert check_states(story_of().history()).validity is Validity.NOT_EXERCISED
    assert of().validity is Validity.NOT_EXERCISED
    assert of(E).validity is Validity.VALID
    assert of(E._replace(offset=5), O1._replace(offset=6)).validity is Validity.NOT_EXERCISED


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"error": "gone", "columns": {}, "count": 0}, "__transaction_state-0 was not read: gone"),
        ({"unread": [7]}, "__transaction_state-0 has records that can't be decoded, at 7"),
    ],
)
def test_records_that_were_not_read(changes: dict[str, Any], why: str) -> None:
    result = of(E, **changes)
    assert (result.validity, result.unknown_because) == (Validity.UNKNOWN, why)


def test_all_reasons_are_reported() -> None:
    story = story_of(states(E, unread=[7]), states(E, partition=2, unread=[8]))
    assert check_states(story.history()).unknown_because == (
        "__transaction_state-0 has records that can't be decoded, at 7; "
        "__transaction_state-2 has records that can't be decoded, at 8"
    )


@pytest.mark.parametrize(
    ("evidence", "partition", "leaders", "why"),
    [
        ([EVIDENCE_STATES], 1, (1,), "the records of __transaction_state-0 were not gathered"),
        ([EVIDENCE_STATES], 0, (1,), None),
        ([EVIDENCE_STATES], 1, (), None),
        ([], 1, (1,), None),
    ],
)
def test_logs_that_were_not_gathered(
    evidence: list[str], partition: int, leaders: tuple[int, ...], why: str | None
) -> None:
    story = story_of(states(E, partition=partition), leaders=leaders, evidence=evidence)
    assert check_states(story.history()).unknown_because == why


class _Coordinator:
    """Kafka's rules for one id, with appends that fail, leaders that change, and epochs that run out."""

    def __init__(self, source: random.Random) -> None:
        self._source = source
        self._now = Record(REMOVED, -1, -1)
        self.log: list[Record] = []
        self.leaders = [1]

    def append(self, record: Record) -> None:
        """Write a state, and adopt it unless the append fails."""
        self.log.append(record._replace(leader_epoch=len(self.leaders) - 1))
        if self._source.random() < 0.7:
            self._now = record
        if self._source.random() < 0.2:
            self.leaders.append(self._source.choice([1, 2, 3]))
            self._now = self.log[-1]

    def act(self) -> None:
        now, source = self._now, self._source
        done = now.status in {EMPTY, COMMITTED, ABORTED}
        wish = source.choice(["init", "add", "commit", "abort", "fence", "expire"])
        raised = now.epoch + source.choice([0, 1])
        if now.status in {COMMITTING, ABORTING}:
            self._complete(now)
        elif wish == "init" and (done or now.status == REMOVED):
            anew = now.status == REMOVED or now.epoch >= 5
            self.append(Record(EMPTY, 0, len(self.log) + 10) if anew else Record(EMPTY, raised, now.producer))
        elif wish == "add" and now.status != REMOVED:
            before = () if done else now.partitions
            self.append(Record(ONGOING, now.epoch, now.producer, sorted({*before, source.randrange(4)})))
        elif wish in {"commit", "abort"} and now.status == ONGOING:
            following = len(self.log) + 10 if raised > now.epoch >= 5 else -1
            status = COMMITTING if wish == "commit" else ABORTING
            version = 2 if raised > now.epoch else 1
            self.append(Record(status, raised, now.producer, now.partitions, following, version=version))
        elif wish == "abort" and done:
            self.append(Record(ABORTING, now.epoch + 1, now.producer, version=2))
        elif wish == "fence" and now.status == ONGOING:
            raised = now.epoch + source.choice([1, 2])
            record = Record(ABORTING, raised, now.producer, now.partitions)
            self.append(record._replace(version=source.choice([1, 2]) if raised == now.epoch + 1 else 2))
        elif wish == "expire" and done:
            self.append(Record(REMOVED, -1, -1))

    def _complete(self, now: Record) -> None:
        status = COMMITTED if now.status == COMMITTING else ABORTED
        record = Record(status, now.epoch, now.producer)
        self.append(record if now.next_id < 0 else Record(status, 0, now.next_id))


@given(st.randoms(use_true_random=False))
def test_a_correct_coordinator_causes_no_finding(source: random.Random) -> None:
    coordinator = _Coordinator(source)
    for _ in range(60):
        coordinator.act()
    gap = source.randrange(60)
    log = coordinator.log
    thinned = [record._replace(offset=place + (place > gap)) for place, record in enumerate(log)]
    for records in (log, thinned, [record._replace(offset=n) for n, record in enumerate(log)][gap:]):
        story = story_of(states(*records), leaders=tuple(coordinator.leaders), kafka_version="4.0.0")
        found = check_states(story.history())
        assert not found.anomalies
