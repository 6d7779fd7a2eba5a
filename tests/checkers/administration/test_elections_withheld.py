"""Partitions that stay without a leader although unclean elections are enabled and a replica is up."""

from typing import Any

import pytest

from checkers.administration.elections import check_elections
from checkers.verdict.verdict import Validity
from tests.checkers.admin_histories import TOPIC, AdminStory

ENABLED = {"unclean.leader.election.enable": "true"}
WITHHELD = "election-withheld"


def registered(story: AdminStory, at_ms: float, broker: int, **change: Any) -> None:
    story.record(at_ms, "BROKER_REGISTRATION_CHANGE_RECORD", {"brokerId": broker, "brokerEpoch": 7, **change})


def leaderless(*, up_ms: float = 100, **setup: Any) -> AdminStory:
    """Broker 1 alone was in sync and is gone at 50 ms; broker 2 comes back at `up_ms`; read at 30 s."""
    story = AdminStory(**{"config": ENABLED, "kafka_version": "3.7.1"} | setup)
    story.created([1, 2])
    story.changed(20, isr=[1])
    registered(story, 49, 1, fenced=1)
    story.changed(50, leader=-1)
    story.record(up_ms - 1, "REGISTER_BROKER_RECORD", {"brokerId": 2, "fenced": True})
    registered(story, up_ms, 2, fenced=-1)
    return story


def found(story: AdminStory, read_ms: float = 30_000) -> dict[str, int]:
    return check_elections(story.history(began_ns=round(read_ms * 1e6))).counts


def test_kafka_12670_nobody_is_elected() -> None:
    result = check_elections(leaderless().history(began_ns=30_000_000_000))
    assert result.validity is Validity.INVALID
    (anomaly,) = result.anomalies
    assert anomaly.id == WITHHELD
    assert "log-0/0 had no leader for 29.9 s while broker 2, which has a replica, was up" in anomaly.summary


@pytest.mark.parametrize(
    "setup",
    [
        {"config": {}},
        {"topics": [{"name": TOPIC, "partitions": 1, "config": {"unclean.leader.election.enable": "false"}}]},
    ],
)
def test_where_it_is_not_enabled_nobody_has_to_be(setup: dict[str, Any]) -> None:
    assert found(leaderless(**setup)) == {}


@pytest.mark.parametrize(("value", "counts"), [("false", {}), (None, {}), ("true", {WITHHELD: 1})])
def test_nor_where_that_was_altered(value: str | None, counts: dict[str, int]) -> None:
    story = leaderless()
    asked = {"config": "unclean.leader.election.enable", "value": value, "to": "n1"}
    story.both(10, 11, "alter-topic", asked, key=TOPIC)
    assert found(story) == counts


def test_an_election_in_time_is_right() -> None:
    story = leaderless(kafka_version="3.9.0")
    story.changed(9000, isr=[2], leader=2, leaderRecoveryState=1)
    assert found(story) == {}


@pytest.mark.parametrize(
    ("change", "counts"),
    [({"fenced": 1}, {}), ({"inControlledShutdown": 1}, {}), ({"fenced": 0}, {WITHHELD: 1})],
)
def test_only_the_time_for_which_the_broker_is_up_counts(
    change: dict[str, int], counts: dict[str, int]
) -> None:
    story = leaderless()
    registered(story, 9000, 2, **change)
    assert found(story) == counts


def test_a_replica_that_comes_back_late_and_one_that_never_does() -> None:
    assert found(leaderless(up_ms=25_000)) == {}
    story = AdminStory(config=ENABLED)
    story.created([1, 2])
    story.changed(50, leader=-1)
    assert found(story) == {}


@pytest.mark.parametrize(
    ("kind", "spec", "counts"),
    [
        ("wipe-disk", {"scope": "all"}, {}),
        ("dead-disk", {"log_dir": 2}, {}),  # the broker goes on with the other one
        ("power-loss", {}, {WITHHELD: 1}),
    ],
)
def test_a_directory_that_is_gone_may_be_why(kind: str, spec: dict[str, Any], counts: dict[str, int]) -> None:
    story = leaderless()
    story.fault(20, 30, kind, "n2", **spec)
    assert found(story) == counts


def test_a_log_that_ends_early_shows_no_time_after_that() -> None:
    story = leaderless()
    story.changed(9000, isr=[1])
    story.changed(30_000, isr=[1])
    assert found(story, 29_000) == {WITHHELD: 1}
    cut = story.history(cut=len(story.records) - 1, began_ns=29_000_000_000)
    assert check_elections(cut).counts == {}


def test_a_partition_that_the_log_does_not_tell_of_is_passed_over() -> None:
    assert found(AdminStory(config=ENABLED)) == {}
