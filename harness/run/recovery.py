"""Waits for recovery under load, and records it: each partition has a full ISR and accepts a write.

Topics that only brokers write to are not written to.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from checkers.history.operations import OperationType
from checkers.history.phases import Phase
from checkers.history.recoveries import RecoveredPartition, Recovery, RecoveryAwaited
from harness.kafka.topics import Address
from harness.record.harness_failures import HarnessFailures
from harness.record.journal import Recorder
from harness.run.full_isrs import View, have_full_isrs, views_with_full_isrs
from harness.run.stage import Stage, all_brokers_ended
from harness.run.under_load import await_traffic
from harness.vocabulary import Workload
from harness.workloads.context import WorkloadContext
from harness.workloads.probing import WriteProbe

_WRITES_S = 5.0
"""At least so long each topic's partitions may take to accept writes, even if the ISRs took all of the time:
a partition that accepts writes must not be recorded as one that does not.
"""
Write = Callable[[str, Sequence[int], float], dict[int, bool]]
"""Writes to partitions of a topic within a deadline (monotonic seconds) and reports which acknowledged."""


def recover(
    stage: Stage, context: WorkloadContext[Workload], failures: HarnessFailures, cancelled: threading.Event
) -> bool:
    """Await recovery under load, and some traffic after it; returns whether it timed out.

    If a broker is dead, not everything recovers, and the wait ends once the rest has recovered.  After a
    failure no traffic is awaited, because the worker that died may have been the last one that sends.
    """
    bound_ms = stage.plan.scenario.assumptions.recovery_ms
    stage.phase(Phase.RECOVER, limit_s=bound_ms / 1000)
    probe = WriteProbe(context)

    def write(topic: str, partitions: Sequence[int], deadline: float) -> dict[int, bool]:
        return probe.write(max(0.0, deadline - time.monotonic()), topic, partitions)

    listeners = stage.cluster.observe_listeners
    brokers = {node.id: listeners[node.name] for node in stage.cluster.nodes if node.is_broker}
    ended = stage.cluster.ended
    dead = frozenset(node.id for node in stage.cluster.nodes if node.name in ended)
    deadline = time.monotonic() + bound_ms / 1000
    unread = context.workload.unread
    recovered = await_recovery(
        stage.recorder, brokers, context.topics, bound_ms, write, unread=unread, dead=dead
    )
    recovery_timed_out = not recovered and time.monotonic() >= deadline
    if failures.failure is None and not all_brokers_ended(stage):
        await_traffic(stage, stage.plan.scenario.assumptions.acked_after, cancelled)
    for complaint in probe.complaints:
        stage.report(Phase.RECOVER, complaint)
    return recovery_timed_out


def await_recovery(
    recorder: Recorder,
    brokers: Mapping[int, Address],
    topics: Sequence[str],
    bound_ms: int,
    write: Write,
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
        write: writes one value to each of a topic's partitions.
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
            name: write(name, [state.partition for state in states], _end_of_writes(deadline))
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
