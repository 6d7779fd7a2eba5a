"""Judges a stored run again, from its folder, and stores the results."""

from pathlib import Path

import click
import msgspec

from checkers.history.reading import read_history
from checkers.judge import CHECKERS, judge_by
from harness.campaigns.doing import showing, shown_on_terminal
from harness.campaigns.keeping import EXIT_CODES, keep, show
from harness.run.own_identity import this_krucible


def check_run(folder: Path, *, as_json: bool) -> int:
    """Judge a run's folder, write verdict and report, print them, and return the exit code."""
    by = this_krucible()  # first: files may change during the judgement, loaded code does not
    with shown_on_terminal(len(CHECKERS) + 2) as tell:
        tell("reading")
        history = read_history(folder)
        verdict = judge_by(history, showing(tell, CHECKERS))
        tell("writing the verdict")
        text = keep(folder, history, verdict, by)
    if as_json:
        click.echo(msgspec.json.encode(verdict).decode())
    else:
        show(text)
    return EXIT_CODES[verdict.validity]
