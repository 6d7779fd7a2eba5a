"""The spine of a run, from a plan to a verdict.

A stranger who reads `execute` knows the program: build the cluster, load it while the schedule of faults is
carried out, heal, wait for recovery, read everything back, gather evidence, judge.
"""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from checkers.history import History
from checkers.judge import judge
from checkers.reading import read_history
from checkers.verdict import Verdict
from harness.cluster.cluster import Cluster
from harness.events import Listener, PhaseBegan, RunBegan, RunEnded
from harness.evidence import gather_logs
from harness.folder import RUNS
from harness.journal import Recorder
from harness.nemesis import Nemesis
from harness.planning import RunPlan
from harness.recovery import await_recovery
from harness.stage import Stage, open_stage
from harness.workloads.log import LogLoad, final_read


class Host(msgspec.Struct, frozen=True):
    """Where a run happens.

    Attributes:
        runs: the store that gets the run's folder.
        keep: leave the cluster up afterwards.
    """

    runs: Path = RUNS
    keep: bool = False


def execute(
    plan: RunPlan, host: Host, listener: Listener, cancelled: threading.Event
) -> tuple[Path, History, Verdict]:
    """Carry out a plan and judge what happened.

    Args:
        plan: what to do.
        host: where.
        listener: hears what goes on, from several threads.
        cancelled: when set, the schedule ends early and the run is judged by what there is.

    Returns:
        The run's folder, its history and the verdict.

    Raises:
        KrucibleError: if the harness could not do its work; faults are healed and the cluster is removed,
            and whatever was recorded stays in the folder.
    """
    with open_stage(plan, host.runs, listener, keep=host.keep) as stage:
        with _observed(stage), _loaded(stage) as load:
            _carry_out(stage, cancelled)
            _recover(stage, load, cancelled)
        if not cancelled.is_set():
            _read_everything(stage)
        _gather_evidence(stage)
        if not cancelled.is_set():
            stage.phase("done")
    history = read_history(stage.folder)
    verdict = judge(history)
    listener(RunEnded(str(stage.folder), verdict, plan.reproduce))
    return stage.folder, history, verdict
