"""A replica that was out of sync for too long may miss the marker of a transaction in a compacted topic."""

from typing import Any

import numpy as np
import pytest

from checkers.columns.tables import PartitionName
from checkers.history.operations import History, OperationType
from checkers.licences import licences_of
from checkers.licences.missed_markers import MISSED, missed_markers
from checkers.licences.permits import Decisions
from checkers.logs.log import check_log
from checkers.transactional.transactions.kafka.excuses import excused
from checkers.transactional.transactions.models.anomalies import ANOMALIES
from checkers.verdict.verdict import Validity
from tests.checkers.admin_histories import TOPIC, AdminStory

HERE = PartitionName(TOPIC, 0)
COMPACTED = {"cleanup.policy": "compact", "delete.retention.ms": "20"}
LAG = {"replica.lag.time.max.ms": "5"}
INVOKE, OK, FAIL = OperationType.INVOKE, OperationType.OK, OperationType.FAIL


def story_of(
    *, config: dict[str, str] = COMPACTED, back_ms: int = 60, leader: int = 3, lag: dict[str, str] = LAG
) -> AdminStory:
    """Broker 3 is out of sync from 20 ms on, comes back, and somebody leads then."""
    topic = {"name": TOPIC, "partitions": 1, "config": config}
    story = AdminStory(topics=[topic], workload={"keys": 4}, config=lag)
    story.created()
    story.changed(20, isr=[1, 2])
    story.changed(back_ms, isr=[1, 2, 3])
    story.changed(back_ms + 5, leader=leader)
    return story


def abort(
    story: AdminStory, from_ms: float, to_ms: float, offset: int | None = 0, *, known: bool = True
) -> None:
    """A transaction with a record that is aborted, and is known to have ended then if its id is used next."""
    mops: list[Any] = [["send", TOPIC, 0, 1]]
    transaction = {"client": "kafka-python", "end": "abort"}
    story.add(from_ms, 7, INVOKE, "txn", key="t-0", value={**transaction, "mops": mops})
    done = {**transaction, "mops": [[*mops[0], offset]], "ended": "abort"}
    story.add(to_ms, 7, FAIL, "txn", key="t-0", value=done)
    if known:
        story.both(to_ms, to_ms, "init-transactions", {"client": "kafka-python"}, key="t-0")


def read(story: AdminStory, records: list[list[Any]]) -> None:
    """Final reads at both isolation levels that return these records."""
    for isolation in ("read_committed", "read_uncommitted"):
        asked = {"client": "kafka-python", "isolation": isolation, "partition": 0}
        answer = {**asked, "start": 0, "end": 2, "position": 2, "records": records}
        story.add(100, isolation, INVOKE, "final-read", key=TOPIC, value=asked)
        story.add(101, isolation, OK, "final-read", key=TOPIC, value=answer)


def transactions(history: History, which: str = "leaders") -> int:
    """How many transactions have a marker that may have been missed."""
    found = missed_markers(history).get(HERE)
    return 0 if found is None else len(getattr(found, which).operation)


@pytest.mark.parametrize(
    ("from_ms", "to_ms", "missed"),
    [(10, 14, False), (10, 16, True), (25, 30, True), (39, 50, True), (42, 50, False)],
    ids=["ended before", "perhaps not fetched", "while it was away", "just in time", "too late"],
)
def test_a_marker_is_missed_if_it_was_written_and_removed_meanwhile(
    from_ms: float, to_ms: float, *, missed: bool
) -> None:
    story = story_of()
    abort(story, from_ms, to_ms)
    assert transactions(story.history()) == missed


@pytest.mark.parametrize(
    ("next_ms", "offset", "missed"),
    [((12, 14), 1, False), ((12, 16), 1, True), ((12, 14), None, True)],
    ids=["in time", "later", "without a record"],
)
def test_a_marker_is_written_before_the_next_transaction_of_its_id(
    next_ms: tuple[float, float], offset: int | None, *, missed: bool
) -> None:
    """A coordinator answers before it writes markers, so the completion itself proves nothing."""
    story = story_of()
    abort(story, 9, 11, known=False)
    abort(story, *next_ms, offset, known=False)
    found = missed_markers(story.history()).get(HERE)
    assert found is not None
    begun = [each.index for each in story.history().of("txn") if each.type is INVOKE]
    assert (begun[0] in found.replicas.operation) is missed


@pytest.mark.parametrize(
    ("how", "from_ms"), [("fail", 14), ("info", 14), ("ok", 13)], ids=["failed", "unknown", "began before"]
)
def test_other_initialisations_say_nothing(how: str, from_ms: int) -> None:
    story = story_of()
    story.add(1, 8, OK, "init-transactions", key="t-0", value={"client": "kafka-python"})
    abort(story, 10, 14, known=False)
    story.both(from_ms, 14, "init-transactions", {"client": "kafka-python"}, key="t-0", how=how)
    assert transactions(story.history()) == 1


def test_by_default_a_replica_counts_as_in_sync_for_half_a_minute() -> None:
    story = story_of(lag={})
    abort(story, 3, 4)
    assert transactions(story.history()) == 1


@pytest.mark.parametrize("changed", [{"back_ms": 38}, {"config": {}}], ids=["short", "not compacted"])
def test_nothing_is_missed_otherwise(changed: dict[str, Any]) -> None:
    story = story_of(**changed)
    abort(story, 25, 30)
    assert transactions(story.history(), "replicas") == 0


def test_readers_are_affected_only_if_that_replica_leads_later() -> None:
    story = story_of(leader=1)
    abort(story, 25, 30)
    history = story.history()
    assert (transactions(history), transactions(history, "replicas")) == (0, 1)


def test_without_transactions_there_is_nothing_to_miss() -> None:
    assert missed_markers(story_of().history()) == {}


@pytest.mark.parametrize(("leader", "validity"), [(3, Validity.UNKNOWN), (1, Validity.INVALID)])
def test_an_aborted_record_may_be_returned_as_a_committed_one_then(leader: int, validity: Validity) -> None:
    story = story_of(leader=leader)
    abort(story, 25, 30)
    read(story, [[0, [0], [1]]])
    result = check_log(story.history())
    assert (result.validity, result.counts["G1a"]) == (validity, 1)
    assert (MISSED in str(result.unknown_because)) is (leader == 3)


@pytest.mark.parametrize(("leader", "illegal"), [(3, False), (1, True)])
def test_and_a_record_before_it_may_be_gone(leader: int, *, illegal: bool) -> None:
    """The cleaner of that leader takes the aborted record for the last one of its key."""
    story = story_of(leader=leader)
    story.both(5, 6, "send", [[0, 5]], answer=[[0, 5, 0, "ok"]], key=TOPIC)
    mops: list[Any] = [["send", TOPIC, 0, 1]]
    transaction = {"client": "kafka-python", "end": "abort", "mops": mops}
    story.add(25, 7, INVOKE, "txn", key="t-0", value=transaction)
    story.add(30, 7, FAIL, "txn", key="t-0", value={**transaction, "mops": [[*mops[0], 1]], "ended": "abort"})
    read(story, [[0, [1], [1]]])
    lost = [each for each in check_log(story.history()).anomalies if each.id == "lost-write"]
    assert [each.illegal for each in lost] == [illegal]


@pytest.mark.parametrize("identity", ["hanging-transaction", "precommitted-read"])
@pytest.mark.parametrize("subject", [str(HERE), "log-0/1"])
def test_a_transaction_may_hang_then_or_be_seen_early(identity: str, subject: str) -> None:
    story = story_of()
    abort(story, 25, 30)
    history = story.history()
    (begun, _) = history.of("txn")
    anomaly = ANOMALIES[identity].found("it hangs", subject=subject, witness=(begun.index,))
    (judged,) = excused(history, [anomaly])
    assert judged.illegal is (subject != str(HERE))


def test_what_a_coordinator_lost_comes_first() -> None:
    one = Decisions(np.array([3, 8]), np.array([0, 1]), ("a", "b"))
    other = Decisions(np.array([5, 8]), np.array([0, 0]), ("c",))
    joined = one.joined(other)
    assert joined.texts == ("a", "b", "c")
    assert joined.of(np.array([3, 5, 8, 9, -1])).tolist() == [0, 2, 1, -1, -1]


def test_other_partitions_have_what_all_have() -> None:
    story = story_of()
    abort(story, 25, 30)
    licences = licences_of(story.history())
    assert len(licences.decisions_in(HERE).texts) == 1
    assert licences.decisions_in(PartitionName(TOPIC, 1)) is licences.decisions
