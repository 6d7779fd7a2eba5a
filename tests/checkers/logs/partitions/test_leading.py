"""A broker that knows of another leader leads no more; one that was held up, or began anew, needs time."""

from typing import Any

import pytest

from checkers.judge import result_by
from checkers.logs.partitions import check_partitions
from checkers.logs.partitions.leading import BOUND_NS
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.admin_histories import TOPIC, TOPIC_ID, AdminStory

BOUND_MS = BOUND_NS / 1e6
KEPT = "leadership-kept"
AS_LEADER, END_UNKNOWN, NOT_LEADER, STORAGE = 0, 78, 6, 56
UP = {"status": "running", "started_at": "then", "exit_code": None}


class Story(AdminStory):
    """Broker 1 led; from 20 ms on broker 2 does, in epoch 1."""

    def __init__(self) -> None:
        super().__init__()
        self.created()
        self.changed(20, leader=2)

    def observe_leading(
        self, at_ms: float, error: int, leader: int = 2, epoch: int = 1, node: str = "n1", **other: Any
    ) -> None:
        """What a broker reports of the leader, and answers as one a millisecond later."""
        row = [other.get("partition", 0), leader, epoch, error]
        value = {
            "began_ns": round((at_ms - 1) * 1e6),
            "asked_ns": round(at_ms * 1e6),
            "topics": {TOPIC: [row]},
        }
        self.observe(at_ms + 1, "leading", value, node=node)

    def leads_on(self, *, from_ms: float = 100, error: int = AS_LEADER, last: int = NOT_LEADER) -> None:
        """Broker 1 names broker 2, answers as a leader just as long as it may not, and still names it."""
        self.observe_leading(from_ms, AS_LEADER)
        self.observe_leading(from_ms + BOUND_MS, error)
        self.observe_leading(from_ms + BOUND_MS + 1000, last)


def judged(recording: AdminStory) -> CheckerResult:
    return check_partitions(recording.history(began_ns=10**12))


def found(recording: AdminStory) -> int:
    return judged(recording).counts.get(KEPT, 0)


@pytest.mark.parametrize("error", [AS_LEADER, END_UNKNOWN])
@pytest.mark.parametrize("last", [AS_LEADER, NOT_LEADER])
def test_who_leads_on_against_its_own_metadata(error: int, last: int) -> None:
    recording = Story()
    recording.leads_on(error=error, last=last)
    result = judged(recording)
    assert (result.validity, result.counts) == (Validity.INVALID, {KEPT: 1})
    (anomaly,) = result.anomalies
    assert anomaly.subject == f"{TOPIC}/0"
    assert len(anomaly.witness) == 3
    assert "by 0.100 s its own metadata had named broker 2" in anomaly.summary


def test_once_for_each_epoch() -> None:
    recording = Story()
    recording.leads_on()
    for more_ms in range(20_000, 30_000, 1000):
        recording.observe_leading(more_ms, AS_LEADER)
    assert found(recording) == 1
    recording.changed(30_000, leader=3)
    for more_ms in range(31_000, 50_000, 1000):
        recording.observe_leading(more_ms, AS_LEADER, leader=3, epoch=2)
    assert found(recording) == 2


def test_where_no_metadata_log_was_read_too() -> None:
    recording = Story()
    recording.leads_on()
    result = check_partitions(recording.history(metadata_log=False))
    assert result.counts == {KEPT: 1}


def test_who_refuses_is_no_leader() -> None:
    recording = Story()
    recording.leads_on(error=NOT_LEADER)
    recording.observe_leading(30_000, STORAGE)
    assert judged(recording).counts == {}


def test_who_needs_a_moment() -> None:
    recording = Story()
    recording.observe_leading(100, AS_LEADER)
    recording.observe_leading(99 + BOUND_MS, AS_LEADER)
    recording.observe_leading(20_000, NOT_LEADER)
    assert found(recording) == 0


def test_an_answer_counts_once_the_metadata_was_the_same_later() -> None:
    recording = Story()
    recording.observe_leading(100, AS_LEADER)
    recording.observe_leading(100 + BOUND_MS, AS_LEADER)
    recording.changed(11_000, leader=1)
    recording.observe_leading(12_000, AS_LEADER, leader=1, epoch=2)
    assert found(recording) == 0


@pytest.mark.parametrize(
    ("leader", "epoch"),
    [
        (1, 2),  # itself
        (-1, 2),  # nobody
        (3, 2),  # somebody else
        (2, 2),  # the same one again
    ],
)
def test_whatever_it_names_meanwhile_begins_anew(leader: int, epoch: int) -> None:
    recording = Story()
    recording.observe_leading(100, AS_LEADER)
    recording.observe_leading(5000, AS_LEADER, leader=leader, epoch=epoch)
    recording.observe_leading(100 + BOUND_MS, AS_LEADER)
    recording.observe_leading(12_000, AS_LEADER)
    assert found(recording) == 0


def test_of_a_node_that_the_setup_does_not_have_nobody_knows_the_id() -> None:
    recording = Story()
    for at_ms in range(1000, 30_000, 1000):
        recording.observe_leading(at_ms, AS_LEADER, node="n9")
    assert found(recording) == 0


def test_another_broker_or_partition_is_another_one() -> None:
    recording = Story()
    recording.observe_leading(100, AS_LEADER)
    recording.observe_leading(100 + BOUND_MS, AS_LEADER, node="n3")
    recording.observe_leading(100 + BOUND_MS, AS_LEADER, partition=1)
    recording.observe_leading(12_000, NOT_LEADER)
    assert found(recording) == 0


def test_of_a_topic_that_was_removed_it_may_be_another_one() -> None:
    recording = Story()
    recording.leads_on()
    recording.record(500, "REMOVE_TOPIC_RECORD", {"topicId": TOPIC_ID})
    assert found(recording) == 0


@pytest.mark.parametrize(
    ("at_ms", "kind", "node", "number"),
    [
        (500, "pause", "n1", 0),
        (500, "pause", "n2", 1),
        (500, "partition", "n1", 1),
        (500, "kill", "n1", 0),
        (500, "dead-disk", "n1", 0),
        (500, "kill", "n2", 1),
        (12_000, "kill", "n1", 1),
    ],
)
def test_a_pause_does_not_count_and_a_broker_that_ended_begins_anew(
    at_ms: float, kind: str, node: str, number: int
) -> None:
    recording = Story()
    recording.leads_on()
    recording.fault(at_ms, at_ms + 800, kind, node)
    assert found(recording) == number


def test_it_is_overdue_after_a_pause_too() -> None:
    recording = Story()
    recording.leads_on()
    recording.fault(500, 1300, "pause", "n1")
    recording.observe(600, "node", UP | {"status": "paused"})
    recording.observe(1300, "node", UP)
    recording.observe_leading(12_000, AS_LEADER)
    recording.observe_leading(13_000, NOT_LEADER)
    assert found(recording) == 1


@pytest.mark.parametrize(
    ("states", "number"),
    [
        ([(50, UP), (500, UP | {"status": "paused"}), (900, UP)], 1),
        ([(500, UP)], 1),
        ([(50, UP), (500, UP | {"started_at": "later"})], 0),
        ([(500, UP | {"status": "exited"})], 0),
        ([(50, UP | {"status": "exited"}), (60, UP), (500, UP)], 1),
        ([(50, UP | {"status": "exited"})], 0),
        ([(500, {"status": "running"})], 0),
        ([(50, UP), (14_000, UP | {"started_at": "later"})], 1),
    ],
)
def test_its_container_shows_whether_it_was_one_process(
    states: list[tuple[float, dict[str, Any]]], number: int
) -> None:
    recording = Story()
    recording.leads_on()
    for at_ms, state in states:
        recording.observe(at_ms, "node", state)
    recording.observe(700, "node", UP | {"status": "exited"}, node="n2")
    assert found(recording) == number


def test_such_answers_alone_are_something_to_judge() -> None:
    recording = AdminStory()
    value = {"began_ns": 1, "asked_ns": 2, "topics": {TOPIC: [[0, 2, 1, NOT_LEADER]]}}
    recording.observe(5, "leading", value)
    assert check_partitions(recording.history(metadata_log=False)).validity is Validity.VALID


def test_what_is_not_as_documented_is_not_judged() -> None:
    recording = Story()
    recording.observe(5, "leading", {"began_ns": 1, "topics": {}})
    result = result_by("partitions", check_partitions, recording.history())
    assert result.validity is Validity.UNKNOWN
