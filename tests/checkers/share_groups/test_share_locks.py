"""A member keeps what it acquired until its lock ends."""

from typing import Any

import pytest

from checkers.history.operations import OK, OperationType
from checkers.share_groups import check_share_groups
from tests.checkers.admin_histories import TOPIC, AdminStory

GROUP, MEMBER = "share-0", 7
LOCK_MS = 4_000
WORKLOAD = {"kind": "shares", "groups": [GROUP], "delivery_limit": 5, "lock_ms": LOCK_MS}
EXPIRED = "InvalidRecordStateException: The record state is invalid."
ASKED = {"client": "kafka-clients", "group": GROUP, "consumer": 0}


def acknowledged(
    *,
    refused: str = EXPIRED,
    outcome: OperationType = OK,
    polled_ms: int = 10_000,
    asked_ms: int = 10_200,
    prefetches: bool = False,
    renewed_ms: int | None = None,
    renewal: str = "",
    renews: tuple[int, ...] = (3, 4),
) -> AdminStory:
    """A member acknowledges two records that it received within 100 ms; broker 1 leads their partition."""
    story = AdminStory(workload=WORKLOAD)
    story.created()
    for node in ("n1", "n2", "n3"):
        state = [0, 1, 0, [1, 2, 3], [1, 2, 3], None]
        story.observe(500, "partitions", {"began_ns": 500_000_000, "topics": {TOPIC: [state]}}, node=node)
    call(story, (polled_ms, polled_ms + 100), "share-poll", {"prefetches": prefetches}, {"records": RECORDS})
    if renewed_ms is not None:
        asked = {"acknowledgements": [[0, list(renews), ["renew"] * len(renews)]]}
        answer = {"refused": [[0, renewal]] if renewal else []}
        call(story, (renewed_ms, renewed_ms + 50), "acknowledge", asked, answer)
        again = {"records": [], "renewed": [[0, list(renews)]]}
        call(story, (renewed_ms + 60, renewed_ms + 70), "share-poll", {"prefetches": prefetches}, again)
    asked = {"acknowledgements": [[0, [3, 4], ["accept", "accept"]]]}
    answer = {"refused": [[0, refused]] if refused else []} if outcome is OK else {}
    call(story, (asked_ms, asked_ms + 50), "acknowledge", asked, answer, outcome)
    return story


RECORDS = [[0, [3, 4], [13, 14], [1, 1]]]


def call(
    story: AdminStory,
    span_ms: tuple[int, int],
    f: str,
    asked: dict[str, Any],
    answer: dict[str, Any],
    *outcomes: OperationType,
) -> None:
    """One operation of the member; it succeeds unless another outcome is given."""
    at_ms, end_ms = span_ms
    (outcome,) = outcomes or (OK,)
    story.add(at_ms, MEMBER, OperationType.INVOKE, f, key=TOPIC, value=ASKED | asked)
    story.add(end_ms, MEMBER, outcome, f, key=TOPIC, value=ASKED | asked | answer)


def lost(story: AdminStory, **how: bool) -> list[str]:
    found = check_share_groups(story.history(**how)).anomalies
    return [str(anomaly.subject) for anomaly in found if anomaly.id == "share-lock-lost"]


def test_a_refused_acknowledgement_of_records_that_are_still_locked_is_a_finding() -> None:
    story = acknowledged()
    (first, _) = (a for a in check_share_groups(story.history()).anomalies if a.id == "share-lock-lost")
    assert lost(story) == [f"{GROUP}: {TOPIC}/0@3", f"{GROUP}: {TOPIC}/0@4"]
    assert first.illegal
    assert first.summary.endswith("although its lock of 4000 ms had begun at most 250 ms before")
    assert [story.history().operations[index].f for index in first.witness] == [
        *("share-poll", "share-poll"),
        *("acknowledge", "acknowledge"),
    ]


@pytest.mark.parametrize(
    "story",
    [
        pytest.param(acknowledged(refused=""), id="not refused"),
        pytest.param(acknowledged(refused="NOT_LEADER_OR_FOLLOWER: no"), id="refused by another error"),
        pytest.param(acknowledged(outcome=OperationType.INFO), id="no answer"),
        pytest.param(acknowledged(asked_ms=10_000 + LOCK_MS), id="the lock may have ended"),
        pytest.param(
            acknowledged(polled_ms=1_000, asked_ms=1_150), id="a deposed leader may have delivered them"
        ),
    ],
)
def test_what_a_correct_leader_may_do_is_no_finding(story: AdminStory) -> None:
    assert lost(story) == []


@pytest.mark.parametrize(
    ("fault", "is_found"),
    [
        ((9_000, 11_000, "pause", "n1"), False),
        ((10_150, 11_000, "pause", "n1"), False),
        ((9_000, 11_000, "pause", "n2"), True),
        ((8_000, 9_900, "pause", "n1"), True),
    ],
)
def test_a_fault_of_the_leader_may_end_the_session(
    fault: tuple[int, int, str, str],
    is_found: bool,  # noqa: FBT001 - a case
) -> None:
    story = acknowledged()
    story.fault(*fault)
    assert bool(lost(story)) is is_found


def test_a_change_of_the_leader_releases_the_records() -> None:
    story = acknowledged()
    story.changed(10_150, leader=2)
    assert lost(story) == []


def test_without_the_metadata_log_the_leader_is_not_known() -> None:
    assert lost(acknowledged(), metadata_log=False) == []


def test_a_member_that_prefetches_may_have_acquired_the_records_long_before() -> None:
    story = acknowledged(prefetches=True)
    assert len(lost(story)) == 2
    story = acknowledged(prefetches=True)
    call(story, (2_000, 2_100), "share-poll", {"prefetches": True}, {"records": []})
    assert lost(story) == []


def test_a_renewal_begins_the_lock_anew() -> None:
    story = acknowledged(renewed_ms=13_000, asked_ms=16_000)
    (first, _) = (a for a in check_share_groups(story.history()).anomalies if a.id == "share-lock-lost")
    assert first.summary.endswith("although its lock of 4000 ms had been renewed at most 3050 ms before")
    assert [story.history().operations[index].f for index in first.witness] == [
        *("share-poll", "share-poll"),
        *("acknowledge", "acknowledge"),
        *("acknowledge", "acknowledge"),
    ]


@pytest.mark.parametrize(
    "story",
    [
        pytest.param(acknowledged(renewed_ms=13_000, asked_ms=17_000), id="the renewed lock may have ended"),
        pytest.param(
            acknowledged(renewed_ms=13_000, renewal="TIMED_OUT: no", asked_ms=16_000), id="no renewal"
        ),
        pytest.param(acknowledged(refused="", renewed_ms=13_000, asked_ms=16_000), id="not refused"),
    ],
)
def test_a_lock_that_may_have_ended_after_a_renewal_is_no_finding(story: AdminStory) -> None:
    assert lost(story) == []


def test_a_refused_renewal_shows_that_the_lock_was_lost() -> None:
    story = acknowledged(refused="", renewed_ms=13_000, renewal=EXPIRED, asked_ms=16_000)
    assert len(lost(story)) == 2


def test_a_fault_before_a_renewal_does_not_matter_after_it() -> None:
    story = acknowledged(renewed_ms=13_000, asked_ms=16_000)
    story.fault(10_150, 12_900, "pause", "n1")
    assert len(lost(story)) == 2
    story = acknowledged(renewed_ms=13_000, asked_ms=16_000)
    story.fault(10_150, 13_100, "pause", "n1")
    assert lost(story) == []


def test_the_earliest_lock_of_a_request_counts() -> None:
    """Only one of the two records was renewed, and a partition is refused as a whole."""
    assert lost(acknowledged(renewed_ms=13_000, asked_ms=16_000, renews=(3,))) == []
