"""In the place of the process of runs: no cluster, a history of a while, and an end that the test chooses.

``DYING`` maps seeds to ends, for example ``7=abort,8=segv``; other runs come to a verdict.
"""

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click

from checkers.history.identity import IDENTITY_FILE, encode_identity
from checkers.history.operations import OperationType
from checkers.history.reading import read_history
from checkers.judge import judge
from harness.campaigns.apart import child
from harness.campaigns.keeping import keep, show
from harness.campaigns.performing import RunJudged
from harness.errors import KrucibleError
from harness.plan.planning import RunPlan
from harness.plan.replaying_plan import _as_set_up
from harness.record.events import Listener, RunBegan
from harness.record.folder import create_run_folder
from harness.record.journal import RUNNER, Clock, Journals, Recorder
from harness.record.ledger import FaultPlanned, Ledger, RunOpened, Undo
from harness.record.ownership import this_process
from harness.run.own_identity import this_krucible
from harness.run.run_host import Host
from tests.checkers.logs.log.log_simulator import Simulation
from tests.harness.recorded_run import SETUP, identity_of_plan

ASSERTION = "python: rdbuf.c:1115: rd_slice_narrow_copy: Assertion `absolute_offset <= end' failed."
START: Any = {
    "ready": False,
    "took_s": 90.1,
    "waited_for": "not every broker is unfenced",
    "load_per_cpu": 0.5,
    "sentences": ["c2 ended with exit code 1: a fatal fault"],
    "died": [{"node": "c2", "exit_code": 1, "said": "ERROR Encountered fatal fault"}],
}


def perform(plan: RunPlan, host: Host, cancelled: threading.Event, listener: Listener) -> RunJudged:
    """What `harness.campaigns.performing.perform` does, up to the end that was chosen."""
    seed = plan.options.seed
    end = dict(pair.split("=") for pair in os.environ.get("DYING", "").split(",") if pair).get(str(seed), "")
    if end == "before it began":
        os.abort()
    folder = create_run_folder(host.runs, plan.options.scenario, seed)
    listener(RunBegan(plan.options.scenario, plan.version, seed, str(folder)))
    if end == "refused":
        raise KrucibleError("the engine is away", next_step="start it")
    if end == "defect":
        raise ZeroDivisionError("a defect")
    journals = recorded(plan, folder, red=end == "red")
    END[end](cancelled)
    journals.close()
    if host.following is not None:
        recorded(host.following, create_run_folder(host.runs, plan.options.scenario, 99))
    history = read_history(folder)
    verdict = judge(history)
    show(keep(folder, history, verdict, this_krucible()))
    return RunJudged(folder, verdict)


def recorded(plan: RunPlan, folder: Path, *, red: bool = False) -> Journals:
    """A run that has got as far as its load, and a fault that was planned."""
    journals = Journals(folder, f"run{folder.name[-1]}", Clock())
    runner = Recorder(journals.open(RUNNER, RUNNER), RUNNER)
    ledger = Ledger(folder)
    ledger.write(RunOpened(run=journals.run, owner=this_process(os.getpid())))
    ledger.write(FaultPlanned(fault="f1", undo=(Undo(action="unpause", node="n1"),)))
    (folder / IDENTITY_FILE).write_bytes(encode_identity(identity_of_plan(plan)))
    (folder / "nodes" / "n1").mkdir(parents=True)
    if red:
        runner.observe("start", "1", START)
    setup: Any = SETUP | _as_set_up(plan)
    runner.observe("setup", None, setup)
    runner.observe("phase", "load")
    worker = Recorder(journals.open("worker-0", "producer"), 0, workers=1)
    for operation in Simulation(7, partitions=1, steps=30).history().operations:
        if operation.f == "send" and operation.type is OperationType.INVOKE:
            worker.invoke("send", operation.key, operation.value)
            answers = [[*row, offset, "ok"] for offset, row in enumerate(operation.value)]
            worker.complete(OperationType.OK, answers)
            break
    return journals


def _assertion(_cancelled: threading.Event) -> None:
    os.write(2, f"%3|FAIL|rdkafka#producer-1\n{ASSERTION}\n".encode())
    os.abort()


def _segv(_cancelled: threading.Event) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def _wait(cancelled: threading.Event) -> None:
    click.echo("waiting")
    cancelled.wait()


def _hang(cancelled: threading.Event) -> None:
    _wait(cancelled)
    click.echo("going on")
    threading.Event().wait()


END = {
    "": lambda _cancelled: None,
    "abort": _assertion,
    "red": _assertion,
    "segv": _segv,
    "exit": lambda _cancelled: os._exit(0),
    "wait": _wait,
    "hang": _hang,
}

if __name__ == "__main__":
    with patch.object(child, "perform", perform):
        sys.exit(child.main(sys.argv[1:]))
