"""Waits until every partition has a leader and a full ISR: before the load, and after healing.

After healing, each partition must also accept a write, except those of topics that only brokers write to.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence

from checkers.history.observed import PartitionAnswer
from checkers.history.operations import OperationType
from checkers.history.recoveries import RecoveredPartition, Recovery, RecoveryAwaited
from harness.kafka.endpoint import Endpoint
from harness.kafka.topics import Address
from harness.kafka.wire import WireError
from harness.record.journal import Recorder

_PAUSE_S = 0.2
_ASK_TIMEOUT_S = 2.0
_WRITES_S = 5.0
"""At least so long each topic's partitions may take to accept writes, even if the ISRs took all of the time:
a partition that accepts writes must not be recorded as one that does not.
"""
WriteProbe = Callable[[str, Sequence[int], float], dict[int, bool]]
"""Writes to partitions of a topic within a deadline (monotonic seconds) and reports which acknowledged."""
View = Mapping[str, tuple[PartitionAnswer, ...]]
"""What a broker reported about partitions, by topic."""


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
        views = _views_with_full_isrs(living, topics, deadline, dead)
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
        full = not dead and _have_full_isrs(views, len(living), topics, dead)
        recovered = full and written and time.monotonic() <= deadline
        outcome.end(OperationType.OK if recovered else OperationType.INFO, value)
    return recovered


def _end_of_writes(deadline: float) -> float:
    return max(deadline, time.monotonic() + _WRITES_S)


def await_full_isrs(brokers: Sequence[Address], topics: Sequence[str], bound_s: float) -> bool:
    """Wait until all brokers report the same leaders and full ISRs; returns whether they did in time.

    Args:
        brokers: OBSERVE listeners of all brokers.
        topics: the workload's topics.
        bound_s: how long to wait, seconds.
    """
    views = _views_with_full_isrs(brokers, topics, time.monotonic() + bound_s, frozenset())
    return _have_full_isrs(views, len(brokers), topics, frozenset())


def _views_with_full_isrs(
    brokers: Sequence[Address], topics: Sequence[str], deadline: float, dead: frozenset[int]
) -> list[View]:
    """The answers of all brokers when ISRs were full, or at the end of the wait."""
    while True:
        views = [view for address in brokers if (view := _view(address, topics))]
        if not brokers or _have_full_isrs(views, len(brokers), topics, dead) or time.monotonic() > deadline:
            return views
        time.sleep(_PAUSE_S)


def _have_full_isrs(views: Sequence[View], brokers: int, topics: Sequence[str], dead: frozenset[int]) -> bool:
    """Whether every broker answered, and all report the same leaders and full ISRs for all partitions.

    An ISR that lacks only dead brokers counts as full.
    """
    flat = [[(name, state) for name, states in sorted(view.items()) for state in states] for view in views]
    leaders = {tuple((name, s.partition, s.leader, s.leader_epoch) for name, s in view) for view in flat}
    full = all(s.leader >= 0 and set(s.isr) == set(s.replicas) - dead for view in flat for _, s in view)
    known = all(view.get(topic) for view in views for topic in topics)
    return len(views) == brokers and known and len(leaders) == 1 and full


def _view(address: Address, topics: Sequence[str]) -> View:
    endpoint = Endpoint(*address, timeout_s=_ASK_TIMEOUT_S)
    try:
        return {name: topic.partitions for name, topic in endpoint.cluster(topics).topics.items()}
    except WireError:
        return {}
    finally:
        endpoint.close()


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
