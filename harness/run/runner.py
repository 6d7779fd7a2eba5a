"""A whole run, from a plan to a verdict.

`execute` is the sequence: start the cluster, observe it, put it under load, carry out the schedule of faults,
heal, wait for recovery, read all records, gather evidence, judge.  Each step is a function in another module
of this folder.  If the harness itself fails on the way, the part is judged that was recorded by then.
"""

import threading

from harness.cluster.engine import engine_errors_named
from harness.errors import disk_errors_named
from harness.plan.planning import RunPlan
from harness.record.events import Listener, RunEnded
from harness.run.ended import EndedRun, judged
from harness.run.execution import execution_of, heal_faults
from harness.run.final_reading import read_everything
from harness.run.gathering import gather_evidence
from harness.run.java import java_clients, require_java, streams_processes
from harness.run.observing import observed
from harness.run.recording import Recording
from harness.run.recovery import recover
from harness.run.run_host import Host
from harness.run.under_load import await_traffic, context_of, loaded
from harness.run.unthrottling import await_throttles_removed, end_throttles_and_retention
from harness.run.watchdog import watched


@disk_errors_named()
@engine_errors_named()
def execute(plan: RunPlan, host: Host, listener: Listener, cancelled: threading.Event) -> EndedRun:
    """Carry out a plan and judge its history; its cluster is removed before failures are raised.

    Each block ends what it began.  A failure of the harness ends a block of `survived`; what follows is done.

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
    recording = Recording()
    with (
        recording.completed(),
        watched(),
        host.stage(plan, listener, cancelled) as stage,  # the cluster is ready
        java_clients(stage) as java,
        streams_processes(stage) as streams,
    ):
        failures = recording.begin(stage)
        context = context_of(stage, java, streams)
        recovery_timed_out = False
        with failures.survived("observing"), observed(stage, context) as observers:
            with failures.survived("the load"), loaded(stage, context) as load:
                execution = execution_of(stage, context, observers, load, cancelled)
                await_traffic(stage, plan.scenario.assumptions.acked_before, cancelled)
                try:
                    with failures.survived("the schedule"):
                        execution.carry_out(plan.schedule)
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
    ended = judged(recording.run)
    listener(RunEnded(str(ended.folder), ended.verdict, plan.reproduce))
    return ended
