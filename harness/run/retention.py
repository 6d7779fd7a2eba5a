"""Ends retention, so that Kafka deletes nothing during the final read.

A final read begins at the start offset of each log.  If records are deleted after that offset was listed, the
read is incomplete.  So topics' retention limits on time and size are removed once the cluster has recovered.
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
    """The part of an operator that is needed here."""

    def perform(self, operation: AlterTopic, timeout_ms: int) -> Performed:
        """Request an operation once."""
        ...


def limits_of(topics: Iterable[WorkloadTopic]) -> tuple[tuple[str, str], ...]:
    """Topic and name of each config that lets a topic delete its oldest records."""
    return tuple(
        (topic.name, limit)
        for topic in topics
        for limit in _LIMITS
        if str(topic.config.get(limit, _NONE)) != _NONE
    )


def end_retention(
    operator: Performing, brokers: Iterable[Address], limits: Iterable[tuple[str, str]], bound_s: float
) -> Iterator[str]:
    """Remove limits, and wait until every broker that answers reports this; yields what could not be done.

    Args:
        operator: sends and records the requests.
        brokers: listeners of the brokers that are up.
        limits: limits as returned by `limits_of`.
        bound_s: time limit for all of this, seconds.

    Raises:
        JournalError: an operation could not be recorded.
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
    """Whether a broker still reports a limit; False if it does not answer."""
    try:
        with Connection(*broker, _LOOK_TIMEOUT_S) as connection:
            configs = own_configs(connection, (topic,))
    except WireError:
        return False
    return topic in configs and configs[topic].get(limit) != _NONE
