"""Committed offsets during the load: which old answers an election or a fault explains, and which nothing.

The offsets topic has one partition; broker 1 coordinates from the beginning, broker 2 from 100 ms on.  A
broker that nothing hits learns of it within 10 ms.
"""

from collections.abc import Callable
from typing import Any

import pytest

from checkers.evidence import late_requests
from checkers.evidence.coordinators import OFFSETS_TOPIC
from checkers.history.operations import OperationType
from checkers.registers import catching_up, check_registers, coordinating
from checkers.verdict.verdict import CheckerResult, Validity
from tests.checkers.admin_histories import TOPIC_ID, AdminStory

INVOKE, OK = OperationType.INVOKE, OperationType.OK
KEY = "offset/g/log-0/0"


@pytest.fixture(autouse=True)
def _short_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinating, "MARGIN_NS", 10_000_000)
    monkeypatch.setattr(late_requests, "DELAYED_NS", 10_000_000)
    monkeypatch.setattr(catching_up, "LAG_NS", 5_000_000)


def kept(*, elected: bool = True, version: str | None = "4.3.1", later: tuple[str, ...] = ()) -> AdminStory:
    versions = {} if version is None else {"kafka_version": version}
    story = AdminStory(workload={"kind": "offsets"}, later_versions=later, **versions)
    story.record(1, "TOPIC_RECORD", {"name": OFFSETS_TOPIC, "topicId": TOPIC_ID})
    partition = {"replicas": [1, 2, 3], "isr": [1, 2, 3], "leader": 1, "leaderEpoch": 0}
    story.record(2, "PARTITION_RECORD", {"partitionId": 0, "topicId": TOPIC_ID, **partition})
    if elected:
        story.changed(100, leader=2)
        story.changed(101, isr=[2, 3])
    return story


def writes(story: AdminStory, at_ms: float, value: int, key: str = KEY, **fields: Any) -> None:
    story.both(at_ms, at_ms + 1, "write", value, key=key, **fields)


def reads(story: AdminStory, at_ms: float, value: int | None, key: str = KEY) -> None:
    process = f"reader-{at_ms}"
    story.add(at_ms, process, INVOKE, "read", key=key)
    story.add(at_ms + 1, process, OK, "read", key=key, value=value)


def judged(story: AdminStory, key: str = KEY, **history: Any) -> CheckerResult:
    """After recovery, and a final read that returns the last value."""
    story.add(900, "runner", INVOKE, "recover", value={})
    story.add(901, "runner", OK, "recover", value={})
    story.add(902, "runner", OK, "phase", key="final-read")
    reads(story, 903, 2, key)
    return check_registers(story.history(**history))


def illegal(result: CheckerResult) -> list[str]:
    return [anomaly.id for anomaly in result.anomalies if anomaly.illegal]


def test_an_old_offset_that_nothing_explains_is_stale() -> None:
    story = kept(elected=False)
    writes(story, 20, 1)
    writes(story, 30, 2)
    reads(story, 40, 1)
    result = judged(story)
    assert illegal(result) == ["stale-offset"]
    assert result.counts == {"nonlinearizable": 1, "stale-offset": 1}
    (stale,) = (anomaly for anomaly in result.anomalies if anomaly.illegal)
    assert stale.summary == f"{KEY} was not read with 2: afterwards a read returned 1."
    assert result.figures["offset_reads_compared"] == 1


def test_nothing_is_not_what_was_committed() -> None:
    story = kept(elected=False)
    writes(story, 20, 2)
    reads(story, 40, None)
    assert illegal(judged(story)) == ["stale-offset"]


@pytest.mark.parametrize(
    ("written_ms", "read_ms", "stale"),
    [
        (90, 98, True),  # both before the election
        (93, 104, True),  # the old leader knew it, and its followers did
        (97, 104, False),  # the new one may not know yet that it is committed
        (97, 150, True),  # it has learned
        (103, 107, False),  # the old leader may not know it, nor that it is deposed
        (103, 109, False),
        (103, 112, True),  # it has had time enough to learn
    ],
)
def test_an_election_explains_what_the_old_leader_may_not_know(
    written_ms: float, read_ms: float, *, stale: bool
) -> None:
    story = kept()
    writes(story, 20, 1)
    writes(story, written_ms, 2)
    reads(story, read_ms, 1)
    result = judged(story)
    assert illegal(result) == (["stale-offset"] if stale else [])
    assert result.figures["offset_reads_compared"] == 1


@pytest.mark.parametrize(
    ("version", "stale"), [("4.0.0", False), ("4.3.1", False), ("3.9.0", True), (None, False)]
)
def test_coordinators_answer_as_of_the_high_watermark_since_4_0(version: str | None, *, stale: bool) -> None:
    """Earlier ones with all that they read; what has no version may be either."""
    story = kept(version=version)
    writes(story, 20, 1)
    writes(story, 97, 2)
    reads(story, 104, 1)
    assert illegal(judged(story)) == (["stale-offset"] if stale else [])


@pytest.mark.parametrize(
    ("node", "at_ms", "stale"),
    [("n2", 15, False), ("n2", 104, False), ("n2", 400, True), ("n3", 15, True)],
    ids=["before its election", "soon after it", "long after it", "another broker"],
)
def test_a_new_coordinator_that_may_be_upgraded_may_answer_as_of_the_high_watermark(
    node: str, at_ms: int, *, stale: bool
) -> None:
    story = kept(version="3.9.0", later=("4.3.1",))
    story.fault(at_ms, at_ms + 1, "upgrade", node, version="4.3.1")
    writes(story, 20, 1)
    writes(story, 97, 2)
    reads(story, 106, 1)
    assert illegal(judged(story)) == (["stale-offset"] if stale else [])


def test_if_no_upgrade_was_recorded_any_broker_may_answer_as_of_the_high_watermark() -> None:
    story = kept(version="3.9.0", later=("4.3.1",))
    writes(story, 20, 1)
    writes(story, 97, 2)
    reads(story, 104, 1)
    assert illegal(judged(story)) == []


@pytest.mark.parametrize(
    ("key", "at_ms", "stale"),
    [
        ("offset/g/log-0/1", 102, True),
        ("offset/h/log-0/0", 102, True),  # of the same partition, the only one
        ("offset/g/log-0/1", 99, False),  # the former one may have acknowledged it
        ("offset/g/log-0/1", 104, False),  # when the read began it was not acknowledged
        ("config/log-0/flush.ms", 102, False),
    ],
)
def test_a_coordinator_has_caught_up_with_the_first_commit_that_it_acknowledges(
    key: str, at_ms: float, *, stale: bool
) -> None:
    story = kept()
    writes(story, 20, 1)
    writes(story, 97, 2)
    writes(story, at_ms, 7, key)
    reads(story, 104.5, 1)
    assert illegal(judged(story)) == (["stale-offset"] if stale else [])


@pytest.mark.parametrize(
    ("begin_ms", "end_ms", "written_ms", "read_ms", "stale"),
    [
        (80, 98, 78, 105, False),  # followers may not have learned since then
        (80, 98, 70, 105, True),
        (80, 90, 78, 105, True),  # they have, for the fault was over
        (105, 140, 97, 143, False),  # they can't fetch from the new leader
        (105, 140, 97, 150, True),
    ],
)
def test_faults_keep_followers_from_learning_of_high_watermarks(
    begin_ms: float, end_ms: float, written_ms: float, read_ms: float, *, stale: bool
) -> None:
    story = kept()
    story.fault(begin_ms, end_ms, "kill", "n3")
    writes(story, 20, 1)
    writes(story, written_ms, 2)
    reads(story, read_ms, 1)
    assert illegal(judged(story)) == (["stale-offset"] if stale else [])


def test_between_faults_that_follow_one_another_nobody_learns_of_high_watermarks() -> None:
    story = kept()
    story.fault(70, 80, "kill", "n3")
    story.fault(84, 98, "pause", "n3")
    writes(story, 20, 1)
    writes(story, 68, 2)
    reads(story, 105, 1)
    assert illegal(judged(story)) == []


def test_a_commit_of_unknown_fate_overwrites_nothing() -> None:
    story = kept(elected=False)
    writes(story, 20, 1)
    writes(story, 30, 2, how="info")
    reads(story, 40, 1)
    assert illegal(judged(story)) == []


Hitting = Callable[[AdminStory], None]


@pytest.mark.parametrize(
    ("hit", "stale"),
    [
        (lambda story: story.fault(95, 140, "pause", "n1"), False),
        (lambda story: story.fault(95, 130, "pause", "n1"), True),
        (lambda story: story.fault(95, 140, "kill", "n2"), True),
        (lambda story: story.fault(120, 144, "pause", "n1"), True),
        (lambda story: story.fault(95, 140, "pause", "n3"), True),
    ],
)
def test_a_fault_of_the_old_leader_may_keep_it_from_learning(hit: Hitting, *, stale: bool) -> None:
    """Or one of the quorum's leader, which is broker 1 as well."""
    story = kept()
    hit(story)
    writes(story, 20, 1)
    writes(story, 103, 2)
    reads(story, 145, 1)
    assert illegal(judged(story)) == (["stale-offset"] if stale else [])


@pytest.mark.parametrize(
    ("down_ms", "up_ms", "stale"),
    [
        (95, 140, True),
        (95, 99, False),  # it may have been up again
        (104, 140, True),
        (107, 140, False),  # it answered until then
        (150, 160, False),
    ],
)
def test_an_old_leader_that_is_down_shows_nothing(down_ms: float, up_ms: float, *, stale: bool) -> None:
    story = kept()
    story.fault(down_ms, up_ms, "kill", "n1")
    writes(story, 20, 1)
    writes(story, 103, 2)
    reads(story, 106, 1)
    assert illegal(judged(story)) == (["stale-offset"] if stale else [])


@pytest.mark.parametrize(("end_ms", "stale"), [(8, True), (15, False)])
def test_what_was_written_in_a_fault_may_be_written_twice(end_ms: float, *, stale: bool) -> None:
    story = kept(elected=False)
    story.fault(5, end_ms, "pause", "n3")
    writes(story, 20, 1)
    writes(story, 50, 2)
    reads(story, 60, 1)
    assert illegal(judged(story)) == (["stale-offset"] if stale else [])


@pytest.mark.parametrize("near", [True, False])
def test_without_a_metadata_log_old_answers_near_faults_are_legal_and_others_open(*, near: bool) -> None:
    story = kept(elected=False)
    if near:
        story.fault(25, 35, "pause", "n3")
    writes(story, 20, 1)
    writes(story, 30, 2)
    reads(story, 40, 1)
    result = judged(story, metadata_log=False)
    assert illegal(result) == []
    assert result.validity is (Validity.VALID if near else Validity.UNKNOWN)
    assert near or "1 reads of offsets were stale, and it is unknown which broker" in str(
        result.unknown_because
    )


def test_what_the_metadata_log_does_not_tell_any_more_may_be_an_election() -> None:
    story = kept()
    writes(story, 150, 1)
    writes(story, 160, 2)
    reads(story, 170, 1)
    assert illegal(judged(story, cut=2)) == []


def test_configs_have_no_coordinator() -> None:
    story = kept(elected=False)
    config = "config/log-0/flush.ms"
    writes(story, 20, 1, config)
    writes(story, 30, 2, config)
    reads(story, 40, 1, config)
    assert illegal(judged(story, key=config)) == []
