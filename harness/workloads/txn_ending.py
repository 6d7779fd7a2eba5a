"""Waits for the coordinator to abort transactions that were left open."""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from threading import Event

from checkers.history.polls import Isolation
from harness.clients.interface import ClientFailedError, ClientKind, LogConsumer, ReadError
from harness.vocabulary import Workload
from harness.workloads.context import WorkloadContext

Place = tuple[str, int]
"""A topic and the number of one of its partitions."""
_PAUSE_S = 0.5
_OFFSETS_TIMEOUT_S = 4.0
_CLOSE_S = 2.0


def await_ended(
    context: WorkloadContext[Workload], deadline: float, missing: frozenset[Place]
) -> frozenset[Place]:
    """Wait until no transaction is open in any partition; returns partitions where one may still be open.

    A transaction is open if the last stable offset, the end for read_committed, is below the end of the log.
    The wait ends when the coordinator must have aborted all transactions that were not ended, or at the
    deadline.

    Args:
        context: context of the run.
        deadline: time of the monotonic clock.
        missing: partitions without a leader, which are not checked.
    """
    patience_ms = context.workload.transactions_end_ms
    bound = min(deadline, time.monotonic() + patience_ms / 1000)
    places = ((topic, number) for topic in context.topics for number in context.partitions_of(topic))
    unstable = frozenset(places) - missing if patience_ms else frozenset()
    pause = Event()
    while unstable and time.monotonic() < bound:
        stable = [
            (topic, partition)
            for topic in context.topics
            for partition in _stable(context, topic, sorted(p for name, p in unstable if name == topic))
        ]
        unstable -= frozenset(stable)
        if unstable:
            pause.wait(_PAUSE_S)
    return unstable


def _stable(context: WorkloadContext[Workload], topic: str, partitions: Sequence[int]) -> list[int]:
    """The given partitions in which no transaction is open."""
    if not partitions:
        return []
    try:
        with ExitStack() as closing:
            committed, everything = (
                _ends(context, topic, isolation, partitions, closing)
                for isolation in (Isolation.READ_COMMITTED, Isolation.READ_UNCOMMITTED)
            )
    except (ClientFailedError, ReadError):
        return []
    return [partition for partition in partitions if committed[partition] >= everything[partition]]


def _ends(
    context: WorkloadContext[Workload],
    topic: str,
    isolation: Isolation,
    partitions: Sequence[int],
    closing: ExitStack,
) -> dict[int, int]:
    client: LogConsumer = context.clients.consumer(ClientKind.KAFKA_PYTHON, topic, isolation)
    closing.callback(client.close, _CLOSE_S)
    return {p: end for p, (_, end) in client.offsets(partitions, _OFFSETS_TIMEOUT_S).items()}
