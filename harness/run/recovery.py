"""Waits for recovery under load and records it: full ISRs, and a write that each partition accepts.

Topics that only brokers write to are not written to.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence

from checkers.history.operations import OperationType
from checkers.history.recoveries import RecoveredPartition, Recovery, RecoveryAwaited
from harness.kafka.topics import Address
from harness.record.journal import Recorder
from harness.run.full_isrs import View, have_full_isrs, views_with_full_isrs

_WRITES_S = 5.0
"""At least so long each topic's partitions may take to accept writes, even if the ISRs took all of the time:
a partition that accepts writes must not be recorded as one that does not.
"""
WriteProbe = Callable[[str, Sequence[int], float], dict[int, bool]]
"""Writes to partitions of a topic within a deadline (monotonic seconds) and reports which acknowledged."""


def await_recovery(
    recorder: Recorder,
    brokers: Mapping[int, Address],
    topics: Sequence[str],
    bound_ms: int,
    probe: WriteProbe,
    *,
    unread: frozenset[str] = frozenset(),
    dead: frozenset[int] = frozenset(),
) -> bool:
    """Wait for recovery and record it as the operation ``recover``; returns whether it was in time.

    Writes are tried even if the ISRs are not full in time, so that each partition's record is its own.
    If a broker is dead, not everything can recover: then the recovery of the rest is awaited, and writes are
    tried.  If all brokers are dead, nothing is awaited.

    Args:
        recorder: writes as the process ``runner``.
        brokers: OBSERVE listeners by node id; every broker must report the recovered state.
        topics: the workload's topics.
        bound_ms: how long recovery may take.
        probe: writes one value to each of a topic's partitions.
        unread: those of the topics that are not written to, because no final reader reads them.
        dead: ids of brokers whose processes have ended by themselves.
    """
    living = [address for broker, address in brokers.items() if broker not in dead]
    began = time.monotonic()
    deadline = began + bound_ms / 1000
    with recorder.operation("recover", topics[0], RecoveryAwaited(bound_ms)) as outcome:
        views = views_with_full_isrs(living, topics, deadline, dead)
        last = views[-1] if views else {}
        acked = {
            name: probe(name, [state.partition for state in states], _end_of_writes(deadline))
            for name, states in last.items()
            if name not in unread
        }
        value = Recovery(
            bound_ms,
            took_ms=round((time.monotonic() - began) * 1000),
            partitions=_recovered(last, acked),
            load_per_cpu=round(os.getloadavg()[0] / (os.cpu_count() or 1), 1),
            dead=tuple(sorted(dead)),
        )
        written = bool(acked) and all(acks and all(acks.values()) for acks in acked.values())
        full = not dead and have_full_isrs(views, len(living), topics, dead)
        recovered = full and written and time.monotonic() <= deadline
        outcome.end(OperationType.OK if recovered else OperationType.INFO, value)
    return recovered


def _end_of_writes(deadline: float) -> float:
    return max(deadline, time.monotonic() + _WRITES_S)


def _recovered(view: View, acked: Mapping[str, Mapping[int, bool]]) -> tuple[RecoveredPartition, ...]:
    """The state of each partition, and whether it acknowledged a write, if one was tried."""
    return tuple(
        RecoveredPartition(
            topic=topic,
            partition=state.partition,
            leader=state.leader if state.leader >= 0 else None,
            isr=state.isr,
            replicas=state.replicas,
            write_acked=acked[topic].get(state.partition, False) if topic in acked else None,
        )
        for topic, states in view.items()
        for state in states
    )
