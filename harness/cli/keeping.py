"""What is written down of a verdict: its file, its numbers and its report; and the last lines of a run."""

from pathlib import Path

import click
from rich.console import Console

from checkers.history import History
from checkers.identity import RunIdentity
from checkers.verdict import Validity, Verdict
from harness.errors import KrucibleError
from results.measures import measure, save_measures
from results.observed import observe
from results.report import write_report
from results.store import RunUnreadableError, load_identity, save_verdict
from results.text import closing_text

EXIT_CODES = {Validity.VALID: 0, Validity.INVALID: 1, Validity.UNKNOWN: 2}


def keep(folder: Path, history: History, verdict: Verdict) -> str:
    """Write ``verdict.json``, ``measures.json`` and ``report.html``; the last lines of the run.

    Raises:
        KrucibleError: if the disk does not take them; the history is untouched.
    """
    measures = measure(observe(history), verdict)
    identity = identity_of(folder)
    try:
        save_verdict(folder, verdict)
        save_measures(folder, measures)
        write_report(folder, history, verdict, identity)
    except OSError as error:
        raise KrucibleError(
            f"the verdict is {verdict.validity}, but could not be written down",
            got=str(error),
            where=str(folder),
            next_step=f"make room, then krucible check {folder}",
        ) from error
    return closing_text(folder, verdict, identity, measures)


def identity_of(folder: Path) -> RunIdentity | None:
    """None where the harness was killed before it had written one."""
    try:
        return load_identity(folder)
    except RunUnreadableError:
        return None


def show(text: str) -> None:
    """Print last lines, the verdict in its colour on a terminal, unless NO_COLOR is set."""
    first, _, rest = text.partition("\n")
    colour = {"VALID": "green", "INVALID": "red", "UNKNOWN": "yellow"}
    word = next((name for name in ("INVALID", "UNKNOWN", "VALID") if name in first), "VALID")
    style = f"bold {colour[word]}"
    Console().print(first, style=style, markup=False, highlight=False, soft_wrap=True)
    click.echo(rest)
