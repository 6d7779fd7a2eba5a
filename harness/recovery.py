"""After healing: wait until every partition has a leader, all its replicas in sync, and takes a write."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from checkers.history import OperationType
from harness.admin import Address
from harness.journal import Recorder
from harness.wire import Endpoint, PartitionAnswer, WireError

_PAUSE_S = 0.2
_ASK_TIMEOUT_S = 2.0
WriteProbe = Callable[[Sequence[int], float], dict[int, bool]]
"""Writes to partitions within a deadline (monotonic seconds) and tells which acknowledged."""


def await_recovery(
    recorder: Recorder, brokers: Sequence[Address], topic: str, bound_ms: int, probe: WriteProbe
) -> bool:
    """Wait for recovery and record it as the operation ``recover``; whether all of it came in time.

    Args:
        recorder: writes as the process ``runner``.
        brokers: OBSERVE listeners; every one must see the recovered state.
        topic: the workload's topic.
        bound_ms: how long recovery may take.
        probe: writes one value to each of the partitions.
    """
    began = time.monotonic()
    deadline = began + bound_ms / 1000
    with recorder.operation("recover", topic, {"bound_ms": bound_ms}) as outcome:
        views = _await_full_isr(brokers, topic, deadline)
        last = views[-1] if views else ()
        acked = probe([state.partition for state in last], deadline)
        value: dict[str, Any] = {
            "bound_ms": bound_ms,
            "took_ms": round((time.monotonic() - began) * 1000),
            "partitions": [_as_value(topic, state, acked) for state in last],
        }
        recovered = _settled(views, len(brokers)) and bool(acked) and all(acked.values())
        recovered = recovered and time.monotonic() <= deadline
        outcome.end(OperationType.OK if recovered else OperationType.INFO, value)
    return recovered


def _await_full_isr(
    brokers: Sequence[Address], topic: str, deadline: float
) -> list[tuple[PartitionAnswer, ...]]:
    """What each answering broker saw when all was well, or at the last look."""
    while True:
        views = [view for address in brokers if (view := _view(address, topic))]
        if _settled(views, len(brokers)) or time.monotonic() > deadline:
            return views
        time.sleep(_PAUSE_S)


def _settled(views: Sequence[tuple[PartitionAnswer, ...]], brokers: int) -> bool:
    """Whether every broker answered, sees a leader and a full ISR everywhere, and the same leaders."""
    leaders = {tuple((s.partition, s.leader, s.leader_epoch) for s in view) for view in views}
    full = all(s.leader >= 0 and set(s.isr) == set(s.replicas) for view in views for s in view)
    return len(views) == brokers and len(leaders) == 1 and full


def _view(address: Address, topic: str) -> tuple[PartitionAnswer, ...]:
    endpoint = Endpoint(*address, timeout_s=_ASK_TIMEOUT_S)
    try:
        return endpoint.cluster([topic]).topics[topic].partitions
    except WireError:
        return ()
    finally:
        endpoint.close()


def _as_value(topic: str, state: PartitionAnswer, acked: dict[int, bool]) -> dict[str, Any]:
    return {
        "topic": topic,
        "partition": state.partition,
        "leader": state.leader if state.leader >= 0 else None,
        "isr": state.isr,
        "replicas": state.replicas,
        "write_acked": acked.get(state.partition, False),
    }
