"""Performs one run in this process: makes and judges it, and stores and reports the results."""

import sys
import threading
from pathlib import Path
from typing import NamedTuple

import click

from checkers.verdict.verdict import Validity, Verdict
from harness.campaigns.console import console_for
from harness.campaigns.keeping import keep, show
from harness.plan.planning import RunPlan
from harness.plan.schedule import planned_ms
from harness.record.events import Event, Listener
from harness.run.own_identity import this_krucible
from harness.run.run_host import Host
from harness.run.runner import execute
from harness.seeded_bugs.reach import reach_text, read_traces


class RunJudged(NamedTuple):
    """A run that is over, and its verdict."""

    folder: Path
    verdict: Verdict


def perform(plan: RunPlan, host: Host, cancelled: threading.Event, listener: Listener) -> RunJudged:
    """Make a run, judge it, write verdict and report, and print the result.

    Args:
        plan: plan of the run.
        host: host of the run.
        cancelled: when set, the run ends early.
        listener: receives the events in addition to the console.

    Raises:
        KrucibleError: the harness failed, and the history until then shows nothing illegal.
    """
    with console_for(sys.stdout, planned_ms(plan.schedule)) as console:

        def hear(event: Event) -> None:
            listener(event)
            console.hear(event)

        ended = execute(plan, host, hear, cancelled)
    folder, verdict = ended.folder, ended.verdict
    try:
        show(keep(folder, ended.history, verdict, this_krucible()))
        if bug := plan.options.seeded_bug:
            click.echo(f"seeded     {reach_text(bug, read_traces(folder, bug))}")
    finally:
        failure = ended.failure
    if failure is not None and verdict.validity is not Validity.INVALID:
        raise failure
    if failure is not None:
        click.echo(f"krucible: the harness failed as well; the verdict stays invalid: {failure}", err=True)
    return RunJudged(folder, verdict)
