"""Puts the cluster under the load of the workload, and waits for its traffic."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from checkers.history.phases import Phase
from harness.clients.interface import ClientKind
from harness.clients.java.process import JavaProcess, StartProcess
from harness.faults.hold import ConnectionHolds
from harness.record.journal import Recorder
from harness.run.full_isrs import await_full_isrs
from harness.run.healing import bench_of
from harness.run.stage import Stage
from harness.vocabulary import Workload
from harness.workloads.context import WorkloadContext, clients_for
from harness.workloads.load import Load
from harness.workloads.opening import implementation_of

_FULL_ISRS_BOUND_S = 30.0
"""How long the load waits until all brokers report full ISRs; then it begins in any case."""
_TRAFFIC_BOUND_S = 20.0
"""How long a run waits for the traffic that its assumptions need; without it the verdict is unknown."""


def context_of(
    stage: Stage, java: Mapping[ClientKind, JavaProcess], streams: StartProcess | None
) -> WorkloadContext[Workload]:
    """The objects that every worker of the load and every final reader gets."""
    workload = stage.plan.scenario.workload
    bootstrap = tuple(stage.cluster.bootstrap)
    brokers = tuple(stage.cluster.observe_listeners.values())
    recorder = Recorder(stage.journals.open("holds", "nemesis"), "nemesis-holds")
    holds = ConnectionHolds(bench_of(stage.cluster), stage.ledger, recorder)
    clients = clients_for(workload, bootstrap, java, streams)
    controllers = tuple(stage.cluster.controller_listeners.values())
    return WorkloadContext(
        workload, stage.journals, clients, bootstrap, brokers, holds, controllers, stage.sizes
    )


@contextmanager
def loaded(stage: Stage, context: WorkloadContext[Workload]) -> Iterator[Load]:
    """Load until the end of the block; it begins with full ISRs, or after `_FULL_ISRS_BOUND_S`."""
    brokers = list(stage.cluster.observe_listeners.values())
    if not await_full_isrs(brokers, context.topics, _FULL_ISRS_BOUND_S):
        stage.report(Phase.LOAD, f"not every broker reports full ISRs after {_FULL_ISRS_BOUND_S:.0f} s")
    load = Load(implementation_of(context.workload).workers(context))
    stage.phase(Phase.LOAD, limit_s=stage.plan.schedule.duration_ms / 1000)
    load.start()
    try:
        yield load
    finally:
        for complaint in load.stop():
            stage.report(Phase.LOAD, complaint)


def await_traffic(stage: Stage, records: int, cancelled: threading.Event) -> None:
    """Wait until so many more records of the load are acknowledged, for `_TRAFFIC_BOUND_S` at most."""
    stage.tally.await_more(records, _TRAFFIC_BOUND_S, cancelled)
