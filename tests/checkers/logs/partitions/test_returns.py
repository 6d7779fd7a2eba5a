"""A broker that returns is elected at once for the partitions without a leader that it may lead."""

import pytest

from checkers.history.replicas import OPAQUE
from checkers.logs.partitions import check_partitions
from checkers.verdict.verdict import CheckerResult
from tests.checkers.admin_histories import TOPIC, AdminStory
from tests.checkers.logs.partitions.test_registrations import changed, feature, registered, story

MISSED = "return-without-election"


def leaderless(
    recording: AdminStory | None = None, *, isr: tuple[int, ...] = (), elr: tuple[int, ...] = (3,)
) -> AdminStory:
    """A partition loses its leader while broker 3 is fenced, which then is in these sets."""
    recording = recording or story()
    changed(recording, 10, 3, fenced=1)
    recording.changed(11, leader=-1, isr=list(isr), eligibleLeaderReplicas=list(elr))
    return recording


def ended(recording: AdminStory, at_ms: float = 20) -> CheckerResult:
    """Another event ends the series."""
    recording.record(at_ms, "NO_OP_RECORD", {})
    return check_partitions(recording.history())


def missed(result: CheckerResult) -> int:
    """Number of elections that are missing."""
    return result.counts.get(MISSED, 0)


@pytest.mark.parametrize(
    ("isr", "elr", "found"), [((), (3,), 1), ((3,), (), 1), ((2,), (3,), 0), ((), (2,), 0), ((), (), 0)]
)
def test_a_broker_that_may_lead_is_elected(isr: tuple[int, ...], elr: tuple[int, ...], found: int) -> None:
    recording = leaderless(isr=isr, elr=elr)
    changed(recording, 12, 3, fenced=-1)
    result = ended(recording)
    assert missed(result) == found
    assert result.figures["elections_by_returns"] == found


def test_what_shows_it() -> None:
    recording = leaderless()
    changed(recording, 12, 3, fenced=-1)
    (anomaly,) = (one for one in ended(recording).anomalies if one.id == MISSED)
    assert "broker 3 was unfenced, and was not elected although it may lead" in anomaly.summary
    assert anomaly.subject == f"{TOPIC}/0"
    assert "nobody led in epoch" in anomaly.explanation[1]
    assert anomaly.illegal


def test_one_that_is_elected_in_the_same_event_is_no_finding() -> None:
    recording = leaderless()
    changed(recording, 12, 3, fenced=-1)
    recording.changed(13, leader=3, isr=[3], eligibleLeaderReplicas=[])
    result = ended(recording)
    assert missed(result) == 0
    assert result.figures["elections_by_returns"] == 1


def test_one_that_is_elected_in_a_later_event_is_a_finding() -> None:
    recording = leaderless()
    changed(recording, 12, 3, fenced=-1)
    recording.changed(13, isr=[])
    recording.record(14, "NO_OP_RECORD", {})
    recording.changed(15, leader=3, isr=[3], eligibleLeaderReplicas=[])
    assert missed(ended(recording)) == 1


def test_one_behind_a_record_without_content_is_of_a_later_event() -> None:
    recording = leaderless()
    changed(recording, 12, 3, fenced=-1)
    recording.changed(13, leader=3, isr=[3], eligibleLeaderReplicas=[])
    recording.records[-1][0] += 1
    assert missed(check_partitions(recording.history())) == 1


def test_a_series_at_the_end_of_the_log_is_not_judged() -> None:
    recording = leaderless()
    changed(recording, 12, 3, fenced=-1)
    assert missed(check_partitions(recording.history())) == 0


def test_a_series_that_another_controller_ends_is_not_judged() -> None:
    recording = leaderless()
    changed(recording, 12, 3, fenced=-1)
    recording.record(13, "NO_OP_RECORD", {})
    recording.records[-1][1] = 2
    assert missed(check_partitions(recording.history())) == 0


def test_a_partition_with_a_leader_needs_none() -> None:
    recording = story()
    changed(recording, 10, 3, fenced=1)
    changed(recording, 12, 3, fenced=-1)
    assert missed(ended(recording)) == 0


def test_a_broker_that_becomes_fenced_is_not_elected() -> None:
    recording = leaderless()
    changed(recording, 12, 3, fenced=1)
    assert missed(ended(recording)) == 0


def test_without_eligible_replicas_only_the_isr_counts() -> None:
    recording = leaderless()
    feature(recording, 11.5, 0)
    changed(recording, 12, 3, fenced=-1)
    assert missed(ended(recording)) == 0


@pytest.mark.parametrize(
    ("kind", "node", "found"),
    [("wipe-disk", "n3", 0), ("dead-disk", "n3", 0), ("wipe-disk", "n2", 1), ("kill", "n3", 1)],
)
def test_a_directory_that_was_lost_can_not_lead(kind: str, node: str, found: int) -> None:
    recording = leaderless()
    recording.fault(6, 9, kind, node)
    changed(recording, 12, 3, fenced=-1)
    assert missed(ended(recording)) == found


def test_a_removed_replica_is_not_elected() -> None:
    recording = leaderless()
    recording.changed(11.5, replicas=[1, 2])
    changed(recording, 12, 3, fenced=-1)
    assert missed(ended(recording)) == 0


@pytest.mark.parametrize("at_ms", [11.5, 13])
def test_near_a_record_that_could_not_be_decoded_nothing_is_reported(at_ms: float) -> None:
    recording = leaderless()
    if at_ms < 12:
        recording.record(at_ms, OPAQUE, {"type": 99, "version": 0, "hex": ""})
    changed(recording, 12, 3, fenced=-1)
    if at_ms > 12:
        recording.record(at_ms, OPAQUE, {"type": 99, "version": 0, "hex": ""})
    assert missed(ended(recording)) == 0


def test_a_broker_that_registers_again_is_judged_when_it_is_unfenced() -> None:
    recording = leaderless()
    registered(recording, 11.5, 3, "second-3")
    changed(recording, 12, 3, fenced=-1)
    assert missed(ended(recording)) == 1
