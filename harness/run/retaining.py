"""Ends retention, so that Kafka deletes nothing during the final read.

If a reader lists where a log begins, and that offset is then out of range, it has not read everything.  So
limits on the time and size that a topic keeps are removed once the cluster has recovered.
"""

import time
from collections.abc import Iterable, Iterator
from threading import Event
from typing import Protocol

from checkers.history.operations import OperationType
from harness.clients.metadata_views import own_configs
from harness.kafka.wire import Connection, WireError
from harness.nemesis.operator import Performed
from harness.vocabulary.administration import AlterTopic
from harness.vocabulary.workloads import WorkloadTopic

Address = tuple[str, int]

_LIMITS = ("retention.ms", "retention.bytes")
_NONE = "-1"
_ASK_TIMEOUT_MS = 5_000
_LOOK_TIMEOUT_S = 2.0
_PAUSE_S = 0.1


class Performing(Protocol):
    """What is needed of an operator."""

    def perform(self, operation: AlterTopic, timeout_ms: int) -> Performed:
        """Ask for an operation once."""
        ...


def limits_of(topics: Iterable[WorkloadTopic]) -> tuple[tuple[str, str], ...]:
    """Topic and name of each config by which a topic removes its oldest records."""
    return tuple(
        (topic.name, limit)
        for topic in topics
        for limit in _LIMITS
        if str(topic.config.get(limit, _NONE)) != _NONE
    )


def end_retention(
    operator: Performing, brokers: Iterable[Address], limits: Iterable[tuple[str, str]], bound_s: float
) -> Iterator[str]:
    """Take limits back, and wait until every broker that answers reports so; yields what could not be done.

    Args:
        operator: asks, and records that.
        brokers: listeners of those that are up.
        limits: as `limits_of` reports.
        bound_s: for all of it, seconds.

    Raises:
        JournalError: it could not be recorded.
    """
    deadline = time.monotonic() + bound_s
    pause = Event()
    asked = tuple(brokers)
    for topic, limit in limits:
        while not _taken_back(operator, topic, limit) and time.monotonic() < deadline:
            pause.wait(_PAUSE_S)
        while (behind := [one for one in asked if _still(one, topic, limit)]) and time.monotonic() < deadline:
            pause.wait(_PAUSE_S)
        if behind:
            yield f"{limit} of {topic} is still reported by {len(behind)} of {len(asked)} brokers"


def _taken_back(operator: Performing, topic: str, limit: str) -> bool:
    asked = operator.perform(AlterTopic(topic=topic, config=limit, value=_NONE), _ASK_TIMEOUT_MS)
    return asked.outcome is OperationType.OK


def _still(broker: Address, topic: str, limit: str) -> bool:
    """Whether a broker reports a limit; one that does not answer reports nothing."""
    try:
        with Connection(*broker, _LOOK_TIMEOUT_S) as connection:
            told = own_configs(connection, (topic,))
    except WireError:
        return False
    return topic in told and told[topic].get(limit) != _NONE
