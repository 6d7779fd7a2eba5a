"""Which configs limit what a topic keeps, and how long brokers know producers."""

from typing import Any

import pytest

from checkers.history.setup import recorded_setup
from checkers.logs.replicas.limits import Limits, limits_of
from tests.checkers.admin_histories import TOPIC, AdminStory


def of(story: AdminStory) -> Limits:
    history = story.history()
    return limits_of(history, recorded_setup(history))


@pytest.mark.parametrize(
    ("name", "value", "limited"),
    [
        ("retention.ms", "15000", True),
        ("retention.ms", 15000, True),
        ("retention.bytes", "1000", True),
        ("retention.ms", "-1", False),
        ("retention.bytes", -1, False),
        ("retention.ms", None, False),
        ("segment.ms", "1000", False),
    ],
)
def test_a_retention_of_a_topic(name: str, value: object, *, limited: bool) -> None:
    topics = [{"name": TOPIC, "partitions": 1, "config": {name: value}}]
    assert of(AdminStory(topics=topics)).retained == ({TOPIC} if limited else set())
    story = AdminStory()
    asked = {"config": name, "value": None if value is None else str(value), "to": "n1"}
    story.both(2, 3, "alter-topic", asked, key=TOPIC)
    assert of(story).retained == ({TOPIC} if limited else set())


@pytest.mark.parametrize(
    ("config", "limited"),
    [({"log.retention.hours": 1}, True), ({"log.retention.ms": "-1"}, False), ({}, False)],
)
def test_a_retention_of_brokers(config: dict[str, Any], *, limited: bool) -> None:
    assert bool(of(AdminStory(config=config)).retained) is limited


@pytest.mark.parametrize(
    ("name", "value", "forgetting"),
    [
        ("producer.id.expiration.ms", "1000", True),
        ("producer.id.expiration.ms", 86_399_999, True),
        ("producer.id.expiration.ms", "86400000", False),
        ("producer.id.expiration.ms", None, False),
        ("producer.id.expiration.ms", "a day", True),
        ("transactional.id.expiration.ms", "604800000", False),
        ("transactional.id.expiration.ms", "5000", True),
        ("offsets.retention.minutes", "1", False),
    ],
)
def test_brokers_that_forget_producers_early(name: str, value: object, *, forgetting: bool) -> None:
    assert of(AdminStory(config={name: value})).forgetting is forgetting
