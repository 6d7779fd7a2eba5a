"""Stores a verdict with the report and files for CI, and prints the last lines of a run."""

import shlex
from pathlib import Path

import click
from rich.console import Console

from checkers.history.identity import KrucibleIdentity, RunIdentity
from checkers.history.operations import History
from checkers.history.reading import HistoryError, read_history
from checkers.verdict.verdict import Validity, Verdict
from harness.errors import KrucibleError
from results.report import write_report
from results.run.circumstances import Circumstances
from results.run.issue import save_issue
from results.run.junit import save_junit, suite_of
from results.run.measures import Measures, measure, save_measures
from results.run.observation import observe
from results.run.text import closing_text
from results.store.judges import save_judged
from results.store.runs import RunUnreadableError, load_identity

EXIT_CODES = {Validity.VALID: 0, Validity.INVALID: 1, Validity.UNKNOWN: 2}


def keep(folder: Path, history: History, verdict: Verdict, by: KrucibleIdentity) -> str:
    """Write verdict, measures, report and files for CI into the folder; returns the run's last lines.

    Args:
        folder: the run's folder.
        history: the recorded history of the run.
        verdict: the verdict on it.
        by: the version of krucible that gave the verdict.

    Raises:
        KrucibleError: if they can't be written; the history does not change.
    """
    observed = observe(history)
    measures = measure(observed, verdict)
    identity = identity_of(folder)
    try:
        save_judged(folder, verdict, by)
        save_measures(folder, measures)
        write_report(folder, history, verdict, identity, by)
        keep_for_ci(folder, verdict, identity, measures, Circumstances(history, observed.faults))
    except OSError as error:
        raise KrucibleError(
            f"the verdict is {verdict.validity}, but could not be written to disk",
            got=error.strerror or str(error),
            where=str(folder),
            next_step=f"make room, or permit writing; then krucible check {shlex.quote(str(folder))}",
        ) from error
    return closing_text(folder, verdict, identity, measures, by)


def keep_for_ci(
    folder: Path,
    verdict: Verdict,
    identity: RunIdentity | None,
    measures: Measures,
    circumstances: Circumstances,
) -> None:
    """Write ``junit.xml``, and ``issue.md`` if the run is not as expected.

    Raises:
        OSError: if they can't be written.
    """
    save_junit(folder, suite_of(folder, verdict, identity, measures.duration_ms))
    save_issue(folder, verdict, identity, circumstances)


def identity_of(folder: Path) -> RunIdentity | None:
    """The run's identity; None if the harness was killed before it wrote one."""
    try:
        return load_identity(folder)
    except RunUnreadableError:
        return None


def circumstances_of(folder: Path) -> Circumstances | None:
    """The circumstances of a stored run's anomalies; None if its history is gone or can't be read."""
    try:
        history = read_history(folder)
    except HistoryError:
        return None
    return Circumstances(history, observe(history).faults)


def show(text: str) -> None:
    """Print the last lines; on a terminal the verdict has a colour, unless NO_COLOR is set."""
    first, _, rest = text.partition("\n")
    colour = {"VALID": "green", "INVALID": "red", "UNKNOWN": "yellow"}
    word = next((name for name in ("INVALID", "UNKNOWN", "VALID") if name in first), "VALID")
    style = f"bold {colour[word]}"
    Console().print(first, style=style, markup=False, highlight=False, soft_wrap=True)
    click.echo(rest)
