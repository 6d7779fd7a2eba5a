"""Committed offsets during the load: which old answers an election or a fault explains, and which nothing.

The offsets topic has one partition; broker 1 coordinates from the beginning, broker 2 from 100 ms on.  A
broker that nothing befalls learns of it within 10 ms.
"""

from collections.abc import Callable
from typing import Any

import pytest

from checkers.history import OperationType
from checkers.licences.internal import OFFSETS_TOPIC
from checkers.registers import check_registers, coordinating
from checkers.verdict import CheckerResult, Validity
from tests.checkers.admin_histories import TOPIC_ID, AdminStory

INVOKE, OK = OperationType.INVOKE, OperationType.OK
KEY = "offset/g/log-0/0"


@pytest.fixture(autouse=True)
def _short_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinating, "MARGIN_NS", 10_000_000)
    monkeypatch.setattr(coordinating, "LATE_NS", 10_000_000)


def kept(*, elected: bool = True) -> AdminStory:
    story = AdminStory(workload={"kind": "offsets"})
    story.record(1, "TOPIC_RECORD", {"name": OFFSETS_TOPIC, "topicId": TOPIC_ID})
    told = {"replicas": [1, 2, 3], "isr": [1, 2, 3], "leader": 1, "leaderEpoch": 0}
    story.record(2, "PARTITION_RECORD", {"partitionId": 0, "topicId": TOPIC_ID, **told})
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
    """After recovery, and a final read that tells the last value."""
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
    assert stale.summary == f"{KEY} was not told to hold 2: afterwards it was read to hold 1."
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
        (97, 104, True),  # the old leader knew it
        (97, 150, True),  # the new one has read the log
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


def test_a_commit_of_unknown_fate_overwrites_nothing() -> None:
    story = kept(elected=False)
    writes(story, 20, 1)
    writes(story, 30, 2, how="info")
    reads(story, 40, 1)
    assert illegal(judged(story)) == []


Befalling = Callable[[AdminStory], None]


@pytest.mark.parametrize(
    ("befall", "stale"),
    [
        (lambda story: story.fault(95, 140, "pause", "n1"), False),
        (lambda story: story.fault(95, 130, "pause", "n1"), True),
        (lambda story: story.fault(95, 140, "kill", "n2"), True),
        (lambda story: story.fault(120, 144, "pause", "n1"), True),
        (lambda story: story.fault(95, 140, "pause", "n3"), True),
    ],
)
def test_a_fault_of_the_old_leader_may_keep_it_from_learning(befall: Befalling, *, stale: bool) -> None:
    """Or one of the quorum's leader, which is broker 1 as well."""
    story = kept()
    befall(story)
    writes(story, 20, 1)
    writes(story, 103, 2)
    reads(story, 145, 1)
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
    assert near or "1 reads of offsets were stale, and nothing tells who" in str(result.unknown_because)


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
