"""A whole run, from a plan to a verdict.

`execute` shows the sequence: start the cluster, put it under load while the schedule of faults is carried
out, heal, wait for recovery, read all records, gather evidence, judge.  If the harness itself fails on the
way, the part is judged that was recorded by then.
"""

import threading
from concurrent.futures import wait

from checkers.history.reading import read_history
from checkers.judge import judge
from harness.cluster.engine import engine_errors_named
from harness.errors import KrucibleError, disk_errors_named
from harness.plan.planning import RunPlan
from harness.record.events import Listener, RunEnded
from harness.record.harness_failures import HarnessFailures
from harness.record.journal import JournalError
from harness.run.ended import EndedRun, RecordedRun
from harness.run.execution import execution_of, heal_faults
from harness.run.final_reading import read_everything
from harness.run.gathering import gather_evidence
from harness.run.java import java_clients, require_java, streams_processes
from harness.run.observing import observed
from harness.run.recovery import recover
from harness.run.run_host import Host
from harness.run.stage import Stage
from harness.run.starting import ClusterNotReadyError
from harness.run.threads import already_done
from harness.run.under_load import await_traffic, context_of, loaded
from harness.run.unthrottling import await_throttles_removed, end_throttles_and_retention
from harness.run.watchdog import watched
from harness.vocabulary import Workload
from harness.workloads.context import WorkloadContext


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
            _play(stage, context_of(stage, java, streams), failures, cancelled)
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
    with failures.survived("observing"), observed(stage, context) as observers:
        with failures.survived("the load"), loaded(stage, context) as load:
            execution = execution_of(stage, context, observers, load, cancelled)
            await_traffic(stage, stage.plan.scenario.assumptions.acked_before, cancelled)
            try:
                with failures.survived("the schedule"):
                    execution.carry_out(stage.plan.schedule)
            finally:
                heal_faults(stage, execution, failures)
            if not cancelled.is_set():
                with failures.survived("removing throttles"):
                    await_throttles_removed(stage, execution, cancelled)
                with failures.survived("recovery"):
                    recovery_timed_out = recover(stage, context, failures, cancelled)
                end_throttles_and_retention(stage, execution)
        if failures.healed and not cancelled.is_set():
            with failures.survived("the final read"):
                read_everything(stage, context, recovery_timed_out=recovery_timed_out)
    with failures.survived("gathering evidence"):
        gather_evidence(stage, cancelled)
