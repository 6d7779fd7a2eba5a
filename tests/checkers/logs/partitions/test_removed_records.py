"""A follower does not remove records that were acknowledged while it was a member of the ISR."""

from typing import Any

import pytest

from checkers.logs.partitions import check_partitions
from checkers.verdict.verdict import CheckerResult
from tests.checkers.admin_histories import TOPIC, AdminStory
from tests.checkers.logs.partitions.test_acknowledged_states import judged, sent

REMOVED = "truncated-committed"
LINE = {"line": 9, "at": "", "topic": TOPIC, "partition": 0}


def story(**setup: Any) -> AdminStory:
    """Offset 3 is acknowledged at 200 ms, with brokers 1 to 3 in sync."""
    recording = AdminStory(**setup)
    recording.created()
    sent(recording, 100, 200)
    return recording


def cut(
    recording: AdminStory, end: int = 3, *, at_ms: float = 5000, topic: str = TOPIC, node: str = "n2"
) -> None:
    """A follower truncates its log."""
    recording.observe(at_ms, "log-cut", LINE | {"topic": topic, "end": end}, node=node)


def removed(recording: AdminStory, *end: int, **how: Any) -> bool:
    """Whether a truncation is a finding."""
    cut(recording, *end, **how)
    return REMOVED in judged(recording).counts


@pytest.mark.parametrize(("end", "found"), [(4, False), (3, True), (0, True)])
def test_what_was_acknowledged_is_not_removed(end: int, *, found: bool) -> None:
    assert removed(story(), end) is found


def test_what_shows_it() -> None:
    recording = story()
    cut(recording)
    (anomaly,) = judged(recording).anomalies
    assert anomaly.summary == (
        "n2 truncated its log of log-0/0 to 3, but 7 had been acknowledged at 3 while it was in sync."
    )
    assert anomaly.explanation[0] == "7 was acknowledged at 0.200 s."
    assert anomaly.explanation[1] == "Line 9 of n2's log, at : its log of log-0/0 ends at 3."
    assert len(anomaly.witness) == 3
    assert anomaly.illegal


def test_after_a_clean_election_it_is_a_finding_too() -> None:
    recording = story()
    recording.changed(1000, leader=3)
    assert removed(recording)


@pytest.mark.parametrize("isr", [[1, 3], [1]])
def test_who_was_not_in_sync_then_may_not_have_had_it(isr: list[int]) -> None:
    recording = AdminStory()
    recording.created()
    recording.changed(50, isr=isr)
    sent(recording, 100, 200)
    recording.changed(1000, isr=[1, 2, 3])
    assert not removed(recording)


def test_who_left_the_isr_before_the_acknowledgement_may_not_have_had_it() -> None:
    recording = story()
    recording.changed(150, isr=[1, 3])
    assert not removed(recording)


def test_who_left_the_isr_later_had_it() -> None:
    recording = story()
    recording.changed(1000, isr=[1, 3])
    assert removed(recording)


def test_who_had_no_copy_for_a_while_began_anew() -> None:
    recording = story()
    recording.changed(1000, replicas=[1, 3], isr=[1, 3])
    recording.changed(1500, replicas=[1, 2, 3])
    assert not removed(recording)


@pytest.mark.parametrize("fields", [{"leader": 3, "isr": [3], "leaderRecoveryState": 1}])
def test_after_an_unclean_election_records_may_be_lost(fields: dict[str, object]) -> None:
    recording = story()
    recording.changed(1000, **fields)
    assert not removed(recording)


@pytest.mark.parametrize(
    ("kind", "node", "found"), [("kill", "n2", True), ("power-loss", "n2", False), ("wipe-disk", "n3", False)]
)
def test_disks_that_were_struck_may_have_lost_it(kind: str, node: str, *, found: bool) -> None:
    recording = story()
    recording.fault(300, 4000, kind, node)
    assert removed(recording) is found


def test_what_may_have_been_acknowledged_after_the_truncation_is_not_known_to_have_been_there() -> None:
    assert not removed(story(), at_ms=2100)
    assert removed(story(), at_ms=2300)


def test_what_was_not_acknowledged_may_be_removed() -> None:
    recording = AdminStory()
    recording.created()
    sent(recording, 100, 200, outcome="info")
    assert not removed(recording)


def test_with_acks_of_the_leader_alone_nothing_is_known() -> None:
    assert not removed(story(workload={"kind": "log", "acks": "1"}))


@pytest.mark.parametrize("place", [{"topic": "another"}, {"node": "n9"}])
def test_of_unknown_topics_and_nodes_nothing_is_reported(place: dict[str, str]) -> None:
    assert not removed(story(), **place)


def test_nor_of_topics_that_were_deleted() -> None:
    recording = story()
    recording.both(210, 220, "delete-topic", None, key=TOPIC)
    assert not removed(recording)


def test_without_a_metadata_log_nobody_knows_who_was_in_sync() -> None:
    recording = story()
    cut(recording)
    result: CheckerResult = check_partitions(recording.history(metadata_log=False))
    assert REMOVED not in result.counts


def test_a_partition_without_records_has_none_to_lose() -> None:
    recording = AdminStory()
    recording.created()
    assert not removed(recording, 0)
