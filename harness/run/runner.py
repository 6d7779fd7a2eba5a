"""A whole run, from a plan to a verdict.

`execute` shows the sequence: start the cluster, put it under load while the schedule of faults is carried
out, heal, wait for recovery, read all records, gather evidence, judge.  If the harness itself fails on the
way, the part is judged that was recorded by then.
"""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import wait
from contextlib import ExitStack, contextmanager
from functools import partial

from checkers.evidence.coordinators import OFFSETS_TOPIC
from checkers.history.phases import Phase
from checkers.history.reading import read_history
from checkers.judge import judge
from harness.clients.interface import ClientKind
from harness.clients.java.process import JavaProcess, StartProcess
from harness.cluster.containers import in_parallel
from harness.cluster.engine import engine_errors_named
from harness.cluster.watching import NodeWatcher
from harness.errors import KrucibleError, disk_errors_named
from harness.evidence.claimed_coordinators import gather_coordinators
from harness.evidence.described_configs import gather_configs
from harness.evidence.disks import gather_disks
from harness.evidence.known_producers import gather_producers
from harness.evidence.node_logs import gather_logs
from harness.faults.hold import ConnectionHolds
from harness.kafka.wire import WireError
from harness.observers import Observers
from harness.observers.commits import COMMITTING
from harness.plan.planning import RunPlan
from harness.plan.schedule import changes_features, moves_replicas
from harness.record.events import Listener, RunEnded
from harness.record.harness_failures import HarnessFailures
from harness.record.journal import JournalError, Recorder
from harness.run.ended import EndedRun, RecordedRun
from harness.run.execution import Execution
from harness.run.full_isrs import await_full_isrs
from harness.run.healing import bench_of
from harness.run.java import java_clients, require_java, streams_processes
from harness.run.recovery import await_recovery
from harness.run.run_host import Host
from harness.run.setup_record import OBSERVE_INTERVAL_MS
from harness.run.stage import Stage
from harness.run.starting import ClusterNotReadyError
from harness.run.threads import already_done
from harness.run.watchdog import watched
from harness.vocabulary import LogWorkload, RandomSchedule, Workload
from harness.workloads.context import WorkloadContext, clients_for
from harness.workloads.deleting import Deletions
from harness.workloads.final_read import end_by, final_readers
from harness.workloads.load import Load
from harness.workloads.opening import implementation_of
from harness.workloads.probing import WriteProbe

FINAL_READ_BOUND_S = 120.0
FULL_ISRS_BOUND_S = 30.0
"""How long the load waits until all brokers report full ISRs; then it begins in any case."""
TRAFFIC_BOUND_S = 20.0
"""How long a run waits for the traffic that its assumptions need; without it the verdict is unknown."""
THROTTLES_BOUND_S = 15.0
"""How long the removal of throttles is repeated before recovery is awaited."""
THROTTLES_PAUSE_S = 0.5


@disk_errors_named()
@engine_errors_named()
def execute(plan: RunPlan, host: Host, listener: Listener, cancelled: threading.Event) -> EndedRun:
    """Carry out a plan and judge its history; its cluster is removed before failures are raised.

    Args:
        plan: the plan of the run.
        host: the host of the run.
        listener: gets the events, from several threads.
        cancelled: when set, the schedule ends early, and the recorded part is judged.

    Raises:
        KrucibleError: if the run ended before there was anything to judge, or if the history could not be
            written; records that were written stay in the folder.
    """
    require_java(plan)
    played = _played(plan, host, listener, cancelled)
    try:
        history = read_history(played.folder)
        verdict = judge(history)
    except BaseException:
        wait([played.removal])
        raise
    listener(RunEnded(str(played.folder), verdict, plan.reproduce))
    return EndedRun(played, history, verdict)


def _played(plan: RunPlan, host: Host, listener: Listener, cancelled: threading.Event) -> RecordedRun:
    """Carry out a plan and return the run once its record is complete.

    Raises:
        KrucibleError: there is nothing to judge, or the history could not be written.
    """
    failures: HarnessFailures | None = None
    try:
        with (
            watched(),
            host.stage(plan, listener, cancelled) as stage,
            java_clients(stage) as java,
            streams_processes(stage) as streams,
        ):
            failures = HarnessFailures(stage)
            _play(stage, _context(stage, java, streams), failures, cancelled)
    except JournalError:
        raise
    except ClusterNotReadyError as error:
        return RecordedRun(error.folder, None, already_done())
    except KrucibleError as error:
        # If something can't be closed or removed, the observations are still valid.
        if failures is None:
            raise
        return RecordedRun(stage.folder, failures.failure or error, stage.removal)
    return RecordedRun(stage.folder, failures.failure, stage.removal)


def _play(
    stage: Stage,
    context: WorkloadContext[Workload],
    failures: HarnessFailures,
    cancelled: threading.Event,
) -> None:
    """All actions on the cluster; a failure ends the current one, and faults in force are healed."""
    recovery_timed_out = False
    with failures.survived("observing"), _observed(stage, context) as observers:
        with failures.survived("the load"), _loaded(stage, context) as load:
            execution = Execution(
                stage, observers.view, lambda: _check(load, observers), cancelled, Deletions(context)
            )
            _carry_out(stage, execution, failures, cancelled)
            if not cancelled.is_set():
                with failures.survived("removing throttles"):
                    _await_throttles_removed(stage, execution, cancelled)
                with failures.survived("recovery"):
                    recovery_timed_out = _recover(stage, context, failures, cancelled)
                _end_throttles_and_retention(stage, execution)
        if failures.healed and not cancelled.is_set():
            with failures.survived("the final read"):
                _read_everything(stage, context, recovery_timed_out=recovery_timed_out)
    with failures.survived("gathering evidence"):
        _gather_evidence(stage, cancelled)


def _context(
    stage: Stage, java: Mapping[ClientKind, JavaProcess], streams: StartProcess | None
) -> WorkloadContext[Workload]:
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
def _observed(stage: Stage, context: WorkloadContext[Workload]) -> Iterator[Observers]:
    """Observers that run until the end of the block."""
    moving = moves_replicas(stage.plan.schedule)
    workload = stage.plan.scenario.workload
    loaded = tuple(topic.name for topic in workload.topics if topic.loaded)
    committing = isinstance(workload, COMMITTING)
    deleting = isinstance(workload, LogWorkload) and workload.deletions_interval_ms > 0
    observers = Observers(
        stage.cluster,
        context.topics,
        stage.journals,
        OBSERVE_INTERVAL_MS,
        reassignments=moving,
        features=changes_features(stage.plan.schedule),
        offsets=bool(loaded) and isinstance(stage.plan.scenario.schedule, RandomSchedule),
        ends=(*loaded, OFFSETS_TOPIC) if committing else loaded,
        commits=committing,
        deletions=context.deletions if deleting else None,
    )
    watcher = NodeWatcher(stage.cluster, stage.journals.open("nodes", "observer"))
    with ExitStack() as ending:
        for observer in (observers, watcher):
            observer.start()
            ending.callback(observer.stop)
        yield observers


@contextmanager
def _loaded(stage: Stage, context: WorkloadContext[Workload]) -> Iterator[Load]:
    """Load until the end of the block; it begins with full ISRs, or after `FULL_ISRS_BOUND_S`."""
    brokers = list(stage.cluster.observe_listeners.values())
    if not await_full_isrs(brokers, context.topics, FULL_ISRS_BOUND_S):
        stage.report(Phase.LOAD, f"not every broker reports full ISRs after {FULL_ISRS_BOUND_S:.0f} s")
    load = Load(implementation_of(context.workload).workers(context))
    stage.phase(Phase.LOAD, limit_s=stage.plan.schedule.duration_ms / 1000)
    load.start()
    try:
        yield load
    finally:
        for complaint in load.stop():
            stage.report(Phase.LOAD, complaint)


def _check(load: Load, observers: Observers) -> None:
    load.check()
    observers.check()


def _carry_out(
    stage: Stage, execution: Execution, failures: HarnessFailures, cancelled: threading.Event
) -> None:
    """Carry out the schedule, and always heal every fault; no fault begins after a worker has died."""
    needed = stage.plan.scenario.assumptions.acked_before
    stage.tally.await_more(needed, TRAFFIC_BOUND_S, cancelled)
    try:
        with failures.survived("the schedule"):
            execution.carry_out(stage.plan.schedule)
    finally:
        try:
            stage.phase(Phase.HEAL)
        finally:
            # Faults must be healed even if the disk is full and the phase can't be recorded.
            execution.nemesis.heal_all()
    failures.healed = True


def _recover(
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
    if failures.failure is None and not _all_brokers_ended(stage):
        stage.tally.await_more(stage.plan.scenario.assumptions.acked_after, TRAFFIC_BOUND_S, cancelled)
    for complaint in probe.complaints:
        stage.report(Phase.RECOVER, complaint)
    return recovery_timed_out


def _await_throttles_removed(stage: Stage, execution: Execution, cancelled: threading.Event) -> None:
    """Remove throttles, which would slow recovery down; throttles that remain are reported.

    The attempt is repeated, because brokers that have just started may not answer yet.
    """
    deadline = time.monotonic() + THROTTLES_BOUND_S
    while reason := _try_to_remove_throttles(execution):
        if _all_brokers_ended(stage) or time.monotonic() > deadline or cancelled.wait(THROTTLES_PAUSE_S):
            stage.report(Phase.HEAL, reason)
            return


def _all_brokers_ended(stage: Stage) -> bool:
    """Whether every broker exited by itself.  They are not restarted, so the cluster can't recover."""
    brokers = set(stage.cluster.observe_listeners)
    return bool(brokers) and brokers <= set(stage.cluster.ended)


def _try_to_remove_throttles(execution: Execution) -> str | None:
    """Remove throttles; returns the reason why some remain, or None."""
    try:
        execution.remove_throttles()
    except WireError as error:
        return f"throttles of reassignments or configs of brokers are left: {error}"
    return None


def _end_throttles_and_retention(stage: Stage, execution: Execution) -> None:
    """Remove throttles that remain, and end retention; what could not be done is reported."""
    if reason := _try_to_remove_throttles(execution):
        stage.report(Phase.RECOVER, reason)
    for complaint in execution.end_retention():
        stage.report(Phase.RECOVER, complaint)


def _read_everything(stage: Stage, context: WorkloadContext[Workload], *, recovery_timed_out: bool) -> None:
    """Read all records with both clients at both isolation levels, and other data that the workload needs."""
    bound_s = 0.0 if _all_brokers_ended(stage) else FINAL_READ_BOUND_S
    stage.phase(Phase.FINAL_READ, limit_s=bound_s)
    deadline = time.monotonic() + bound_s
    listeners = stage.cluster.observe_listeners
    dead = frozenset(listeners[name] for name in stage.cluster.ended if name in listeners)
    readers = final_readers(context, deadline, dead, recovery_timed_out=recovery_timed_out)
    own = implementation_of(context.workload).final_workers(context, deadline)
    for complaint in end_by([*readers, *own], deadline):
        stage.report(Phase.FINAL_READ, complaint)


def _gather_disks_and_logs(stage: Stage, living: Mapping[str, tuple[str, int]]) -> None:
    places = stage.sizes.places(stage.topics)
    try:
        gather_producers(stage.recorder, living, places)
        gather_disks(stage.cluster, places, stage.journals)
        gather_producers(stage.recorder, living, places)
    finally:
        gather_logs(stage.cluster.containers, stage.folder, stage.recorder)


def _gather_evidence(stage: Stage, cancelled: threading.Event) -> None:
    """Collect configs and disks in parallel, because both mostly wait for Docker and its containers.

    Producers are collected before and after disks: what a broker knew before must be on its disk, and it must
    know what was on its disk after that.  Logs are collected last, so that they have every cleaning that may
    have changed the disks.
    """
    stage.phase(Phase.EVIDENCE)
    names = [topic.name for topic in stage.topics]
    ended, listeners = stage.cluster.ended, stage.cluster.observe_listeners
    living = {name: address for name, address in listeners.items() if name not in ended}
    gatherers = (
        partial(gather_configs, stage.recorder, living, names),
        partial(gather_coordinators, stage.recorder, living),
        partial(_gather_disks_and_logs, stage, living),
    )
    in_parallel(lambda gather: gather(), gatherers)
    if not cancelled.is_set():
        stage.phase(Phase.DONE)
