"""What it permits that a decision on a transaction is lost with the end of its coordinator's log."""

from typing import Any

import numpy as np
import pytest

from checkers.evidence.loading import columns_of
from checkers.history.operations import OperationType
from checkers.licences import Licences, licences_of
from checkers.licences.decisions import decisions_of, lost_state
from checkers.licences.permits import Decisions, no_decisions
from checkers.logs.log import check_columns
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.admin_histories import TOPIC, TOPIC_ID, AdminStory
from tests.checkers.log_histories import MS, history_of

STATES = "__transaction_state"
ENABLE = {"unclean.leader.election.enable": "true"}
MENDED = [1, 2, 3]


def elected(**setup: Any) -> AdminStory:
    """The coordinators' topic has one partition; at 30 ms its leader was elected uncleanly, seen by all."""
    story = AdminStory(**setup)
    story.record(1, "TOPIC_RECORD", {"name": STATES, "topicId": TOPIC_ID})
    partition = {"replicas": MENDED, "isr": [1], "leader": 1, "leaderEpoch": 0}
    story.record(2, "PARTITION_RECORD", {"partitionId": 0, "topicId": TOPIC_ID, **partition})
    story.changed(20, leader=-1)
    story.changed(30, isr=[2], leader=2, leaderRecoveryState=1)
    for at_ms, leader, epoch in ((10, 1, 0), (40, 2, 2)):
        topics = {STATES: [[0, leader, epoch, MENDED, [leader], []]]}
        story.observe(at_ms, "partitions", {"began_ns": at_ms * 1_000_000, "topics": topics})
    return story


def transacted(story: AdminStory, at_ms: float, value: int = 7) -> AdminStory:
    return ended(story, at_ms, value)


def ended(
    story: AdminStory,
    at_ms: float,
    value: int,
    *,
    key: str = "t-0",
    offset: int | None = 0,
    error: str | None = None,
) -> AdminStory:
    asked = {"client": "c", "end": "commit", "mops": [["send", TOPIC, 0, value]], "consumed": []}
    story.add(at_ms, value, OperationType.INVOKE, "txn", key=key, value=asked)
    answer = asked | {"mops": [["send", TOPIC, 0, value, offset]], "ended": None if error else "commit"}
    kind = OperationType.INFO if error else OperationType.OK
    story.add(at_ms + 1, value, kind, "txn", key=key, value=answer, error=error)
    return story


@pytest.mark.parametrize(
    ("at_ms", "permitted", "lost"),
    [(15, True, True), (45, True, True), (1_100, True, False), (15, False, False)],
)
def test_a_loss_concerns_transactions_that_had_begun(at_ms: float, *, permitted: bool, lost: bool) -> None:
    """A second after the last broker heard of the election its former leader decides nothing any more."""
    history = transacted(elected(config=ENABLE if permitted else {}), at_ms).history()
    decisions = decisions_of(history)
    begun = next(operation.index for operation in history.of("txn"))
    assert decisions.operation.tolist() == ([begun] if lost else [])
    assert decisions.licence.tolist() == ([0] if lost else [])
    assert ["elected uncleanly" in text for text in decisions.texts] == ([True] if lost else [])
    assert licences_of(history).decisions.texts == decisions.texts


def initialised(story: AdminStory, at_ms: float, kind: OperationType = OperationType.OK) -> AdminStory:
    story.both(at_ms, at_ms + 1, "init-transactions", {"client": "c"}, key="t-0", how=kind.value)
    return story


def begun_by(story: AdminStory) -> list[int]:
    """Values of the transactions whose decision may be lost."""
    history = story.history()
    lost = decisions_of(history).operation.tolist()
    return [history.operations[index].value["mops"][0][3] for index in lost]


def test_a_loss_concerns_the_last_transaction_before_it() -> None:
    """The second one was decided before the election at 30 ms, so the first one was all done by then."""
    story = transacted(transacted(elected(config=ENABLE), 10, 7), 15, 8)
    assert begun_by(story) == [8]


@pytest.mark.parametrize(("at_ms", "lost"), [(15, []), (29, [7]), (10.5, [7])])
def test_who_initialises_an_id_waits_for_the_one_before(at_ms: float, lost: list[int]) -> None:
    """Before the loss; not before it; not after the transaction."""
    assert begun_by(initialised(transacted(elected(config=ENABLE), 10), at_ms)) == lost


def test_an_initialisation_of_unknown_fate_shows_nothing() -> None:
    assert begun_by(initialised(transacted(elected(config=ENABLE), 10), 15, OperationType.INFO)) == [7]


@pytest.mark.parametrize(
    "following",
    [
        pytest.param({"offset": None}, id="of no record"),
        pytest.param({"error": "timeout"}, id="of unknown end"),
        pytest.param({"key": "t-1"}, id="of another id"),
    ],
)
def test_what_a_coordinator_need_not_have_decided_shows_nothing(following: dict[str, Any]) -> None:
    assert 7 in begun_by(ended(transacted(elected(config=ENABLE), 10), 15, 8, **following))


def test_one_of_unknown_end_may_be_ended_after_the_next_one() -> None:
    story = transacted(ended(elected(config=ENABLE), 10, 7, error="timeout"), 15, 8)
    assert begun_by(story) == [7, 8]
    assert begun_by(initialised(story, 20)) == []


def test_one_without_a_completion_may_be_ended_at_any_time() -> None:
    story = elected(config=ENABLE)
    asked = {"client": "c", "end": "commit", "mops": [["send", TOPIC, 0, 9]]}
    story.add(5, 9, OperationType.INVOKE, "txn", key="t-0", value=asked)
    assert begun_by(initialised(story, 15)) == [9]


@pytest.mark.parametrize(
    ("since_ms", "until_ms", "lost"), [(10, 40, True), (10, 20, False), (1_060, 1_070, False)]
)
def test_a_state_may_be_lost_from_the_election_on(since_ms: float, until_ms: float, *, lost: bool) -> None:
    history = elected(config=ENABLE).history()
    assert (lost_state(history, "t-0", round(since_ms * MS), round(until_ms * MS)) is not None) is lost


def test_without_transactions_there_is_nothing_to_lose() -> None:
    assert decisions_of(elected(config=ENABLE).history()).texts == ()


def test_a_decision_is_found_by_its_transaction() -> None:
    decisions = Decisions(np.array([3, 8]), np.array([1, 0]), ("disks", "elections"))
    assert decisions.of(np.array([8, 3, 4, 9, -1])).tolist() == [0, 1, -1, -1, -1]
    assert no_decisions().of(np.array([3, -1])).tolist() == [-1, -1]


def judged(text: str, *operations: int) -> CheckerResult:
    """A log of which the decisions on transactions that were begun by some operations may be lost."""
    decisions = Decisions(np.array(operations), np.zeros(len(operations), np.int64), ("states are lost",))
    return check_columns(columns_of(history_of(text)), Licences(None, decisions))


COMMITTED = "p0 txn commit 0@0=1 0@1=2\np1 send 0@3=3\n"
"""Begun by operation 1."""
READ = "a final 0 0..4 0@0=1 0@1=2 0@3=3\n"
HIDDEN = "c final 0 0..4 0@3=3\n"


@pytest.mark.parametrize(
    ("text", "begun", "found"),
    [
        pytest.param(READ + HIDDEN, 1, {"lost-write": True}, id="aborted later"),
        pytest.param(READ + HIDDEN, 3, {"lost-write": False}, id="another's decision"),
        pytest.param(
            "a final 0 0..4 0@3=3\n" + HIDDEN, 1, {"lost-write": False}, id="records are not taken away"
        ),
        pytest.param(HIDDEN, 1, {"lost-write": True}, id="nobody reads everything"),
        pytest.param(
            READ + "c final 0 0..4 0@0=1 0@3=3\n", 1, {"lost-write": False}, id="its marker was there"
        ),
        pytest.param(
            "r9 assign 0@0\nr9 committed 0@3=3\n" + READ + HIDDEN,
            1,
            {"lost-write": True, "poll-skip": True},
            id="passed over",
        ),
        pytest.param(
            "r9 assign 0@0\nr9 poll 0@3=3\n" + READ + HIDDEN,
            1,
            {"lost-write": True, "poll-skip": False},
            id="passed over by a reader of everything",
        ),
    ],
)
def test_a_commit_may_turn_out_an_abort_and_nothing_else(
    text: str, begun: int, found: dict[str, bool]
) -> None:
    result = judged(COMMITTED + text, begun)
    assert {one.id: one.licence is not None for one in result.anomalies} == found
    assert (result.validity is Validity.INVALID) is not all(found.values())


def test_nobody_can_say_whether_a_decision_was_lost() -> None:
    result = judged(COMMITTED + READ + HIDDEN, 1)
    assert result.validity is Validity.UNKNOWN
    assert "lost-write may follow from states are lost" in str(result.unknown_because)
    assert result.open_anomalies == ("lost-write",)


@pytest.mark.parametrize(("begun", "validity"), [(1, Validity.UNKNOWN), (3, Validity.INVALID)])
def test_an_abort_may_turn_out_a_commit(begun: int, validity: Validity) -> None:
    text = "p0 txn abort 0@0=1\np1 send 0@2=2\n"
    result = judged(text + "a final 0 0..3 0@0=1 0@2=2\nc final 0 0..3 0@0=1 0@2=2", begun)
    assert (set(result.counts), result.validity) == ({"G1a"}, validity)


def test_a_send_that_failed_is_no_decision() -> None:
    result = judged("p0 send 0@x=1\na final 0 0..1 0@0=1\nc final 0 0..1 0@0=1", 1)
    assert (set(result.counts), result.validity) == ({"G1a"}, Validity.INVALID)
