"""Judges a stored run, or judges it again, from its folder."""

from pathlib import Path

import click
import msgspec

from checkers.history.operations import History
from checkers.history.reading import HistoryError, read_history
from checkers.judge import CHECKERS, judge, judge_by
from checkers.verdict.verdict import Verdict
from harness.campaigns.activity import showing, shown_on_terminal
from harness.campaigns.keeping import EXIT_CODES, keep, show
from harness.run.own_identity import this_krucible
from results.store.runs import RunUnreadableError, load_verdict


def verdict_of(folder: Path) -> Verdict:
    """The stored verdict of a run; if there is none, or an unreadable one, the run is judged again."""
    try:
        return load_verdict(folder)
    except RunUnreadableError:
        return judge(read_history(folder))


def _read(folder: Path) -> History:
    """The history of a run; an error names the folder, not only the file.

    Raises:
        HistoryError: it can't be read.
    """
    try:
        return read_history(folder)
    except HistoryError as error:
        if str(folder) in error.place:
            raise
        place = f"{error.place}, in {folder}"
        raise HistoryError(
            error.problem, expected=error.expected, place=place, next_step=error.next_step
        ) from error


def check_run(folder: Path, *, as_json: bool) -> int:
    """Judge a run's folder, write verdict and report, print them, and return the exit code."""
    by = this_krucible()  # first: files may change during the judgement, loaded code does not
    with shown_on_terminal(len(CHECKERS) + 2) as show_step:
        show_step("reading")
        history = _read(folder)
        verdict = judge_by(history, showing(show_step, CHECKERS))
        show_step("writing the verdict")
        text = keep(folder, history, verdict, by)
    if as_json:
        click.echo(msgspec.json.encode(verdict).decode())
    else:
        show(text)
    return EXIT_CODES[verdict.validity]
