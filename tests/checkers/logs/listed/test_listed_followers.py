"""A deletion is answered once the logs of all followers in sync begin where it was asked for, or above."""

import pytest

from checkers.logs.listed import check_listed
from checkers.logs.replicas.deleted_records import MARGIN_NS
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.admin_histories import TOPIC, TOPIC_ID, AdminStory

EARLY = "deleted-before-followers"
ASKED_MS = 3000 + MARGIN_NS / 1e6
BEFORE_MS = ASKED_MS - MARGIN_NS / 1e6


class Story(AdminStory):
    """Broker 1 leads; at `ASKED_MS` records below 50 are deleted, which takes 10 ms."""

    def __init__(self, how: str = "ok", below: int = 50, config: dict[str, str] | None = None) -> None:
        topics = [{"name": TOPIC, "partitions": 1, "config": config or {}}]
        super().__init__(topics=topics)
        self.created()
        self.deletes(ASKED_MS, below, how)

    def deletes(self, at_ms: float, below: int, how: str = "ok") -> None:
        self.both(at_ms, at_ms + 10, "delete-records", [[0, below]], key=TOPIC, how=how)

    def starts(
        self, after_ms: float, offset: int, node: str = "n2", error: int = 0, partition: int = 0
    ) -> None:
        """A broker is asked so long after the deletion was asked for, and answers 1 ms later."""
        at_ms = ASKED_MS + after_ms
        value = {"began_ns": round(at_ms * 1e6), "topics": {TOPIC: [[partition, error, offset]]}}
        self.observe(at_ms + 1, "starts", value, node=node)


def judged(recording: AdminStory) -> CheckerResult:
    return check_listed(recording.history())


def found(recording: AdminStory) -> int:
    return judged(recording).counts.get(EARLY, 0)


def early(**made: object) -> Story:
    recording = Story(**made)  # type: ignore[arg-type]
    recording.starts(12, 49)
    return recording


def test_a_follower_that_begins_too_low() -> None:
    result = judged(early())
    assert (result.validity, result.counts) == (Validity.INVALID, {EARLY: 1})
    (anomaly,) = result.anomalies
    assert (
        anomaly.summary
        == "n2 reported that its log of log-0/0 begins at 49 after DeleteRecords up to 50 had been "
        "acknowledged"
    )
    assert len(anomaly.witness) == 3
    assert result.figures == {"starts_of_followers": 1}


def test_one_finding_for_each_partition() -> None:
    recording = early()
    recording.starts(12, 40, "n3")
    assert (found(recording), judged(recording).figures["starts_of_followers"]) == (1, 2)


def test_followers_that_have_moved() -> None:
    recording = Story()
    recording.starts(12, 50)
    recording.starts(12, 51, "n3")
    result = judged(recording)
    assert (result.validity, result.figures) == (Validity.VALID, {"starts_of_followers": 2})


@pytest.mark.parametrize("after_ms", [-100, 5, 9.9])
def test_who_was_asked_before_the_answer_need_not_have_moved(after_ms: float) -> None:
    recording = Story()
    recording.starts(after_ms, 0)
    assert found(recording) == 0


def test_what_was_deleted_long_ago_is_not_asked_for() -> None:
    recording = Story()
    recording.starts(70_000, 0)
    assert found(recording) == 0


@pytest.mark.parametrize("how", ["info", "fail"])
def test_what_was_not_acknowledged(how: str) -> None:
    assert found(early(how=how)) == 0


def test_what_was_not_reported() -> None:
    recording = Story()
    recording.starts(12, -1, error=6)
    assert judged(recording).validity is Validity.NOT_EXERCISED
    recording.starts(12, 0, node="n9")
    recording.starts(12, 0, partition=1)
    assert found(recording) == 0


def test_the_leader_is_judged_elsewhere() -> None:
    recording = Story()
    recording.starts(12, 0, "n1")
    assert found(recording) == 0


def test_where_records_go_by_themselves() -> None:
    assert found(early(config={"retention.ms": "1000"})) == 0


def test_an_offset_that_somebody_had_asked_for_before_may_be_remembered_of_another_process() -> None:
    recording = early()
    recording.deletes(100, 50, "info")
    assert found(recording) == 0
    recording = early()
    recording.deletes(100, 49, "info")
    recording.deletes(ASKED_MS + 1, 60, "info")
    assert found(recording) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"isr": [1, 3]},
        {"leader": 3},
        {"leader": 2},
        {"leader": -1},
        {"leader": 1},
        {"replicas": [1, 3], "isr": [1, 3]},
        {"directories": ["792eyRB-iWnN5hXolHjMEQ"] * 3},
    ],
)
@pytest.mark.parametrize("at_ms", [BEFORE_MS + 1, ASKED_MS + 5, ASKED_MS + 12])
def test_who_may_not_have_been_waited_for(change: dict[str, object], at_ms: float) -> None:
    recording = early()
    recording.changed(at_ms, **change)
    assert found(recording) == 0


def test_who_came_back_in_time_was() -> None:
    recording = early()
    recording.changed(100, isr=[1, 3])
    recording.changed(200, isr=[1, 2, 3])
    recording.changed(ASKED_MS + 50, isr=[1, 3])
    assert found(recording) == 1


@pytest.mark.parametrize("change", [{"leader": 1, "isr": [1], "leaderRecoveryState": 1}])
def test_after_an_unclean_election_nobody_knows(change: dict[str, object]) -> None:
    recording = early()
    recording.changed(100, **change)
    recording.changed(200, isr=[1, 2, 3], leaderRecoveryState=0)
    assert found(recording) == 0


@pytest.mark.parametrize(
    ("kind", "node", "number"),
    [
        ("kill", "n2", 0),
        ("power-loss", "n2", 0),
        ("dead-disk", "n2", 0),
        ("kill", "n3", 1),
        ("pause", "n2", 1),
    ],
)
def test_who_was_started_anew_may_have_lost_its_start(kind: str, node: str, number: int) -> None:
    recording = early()
    recording.fault(ASKED_MS - 500, ASKED_MS - 400, kind, node)
    assert found(recording) == number


def test_whose_process_was_seen_to_change() -> None:
    recording = early()
    recording.observe(ASKED_MS - 300, "node", {"status": "running"}, node="n2")
    assert found(recording) == 0


def test_where_the_metadata_log_does_not_tell() -> None:
    assert check_listed(early().history(metadata_log=False)).counts == {}
    recording = early()
    recording.record(7000, "REMOVE_TOPIC_RECORD", {"topicId": TOPIC_ID})
    assert found(recording) == 0
