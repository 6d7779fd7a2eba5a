"""Cleans up after a process of runs that died: ends its faults, removes its cluster, judges its history."""

import shlex
import shutil
import signal
import sys
from contextlib import closing
from pathlib import Path
from typing import IO, NamedTuple

import click

from checkers.verdict.verdict import Validity, Verdict
from harness.campaigns.apart.process import start
from harness.campaigns.keeping import EXIT_CODES
from harness.campaigns.performing import RunJudged
from harness.cluster.engine import connect, engine_errors_named
from harness.errors import KrucibleError, disk_errors_named
from harness.record.deaths import death_text, save_stderr
from harness.record.ownership import Owner
from harness.run.healing import heal_after
from results.store.runs import VERDICT_FILE, load_verdict, run_folders

JUDGING = f"{__package__}.judging"
_SHOW_CURSOR = "\x1b[?25h"


class Death(NamedTuple):
    """A process of runs that ended unexpectedly.

    Attributes:
        owner: the process.
        code: its exit code; a signal's number below zero.
        last_lines: the last lines that it wrote to stderr.
        under_way: folder of the current run; None if there was none, or if it had no folder yet.
        begun: folders of all runs that it had begun.
    """

    owner: Owner
    code: int
    last_lines: tuple[str, ...]
    under_way: Path | None
    begun: tuple[Path, ...]

    @property
    def text(self) -> str:
        """How the process ended, as a sentence."""
        return death_text(self.code, self.last_lines)


def take_up(death: Death, runs: Path) -> RunJudged:
    """Heal, clean up and judge; returns folder and verdict of the run in progress.

    Raises:
        KrucibleError: the run had recorded nothing, its record could not be judged, or it shows nothing
            illegal and could not be cleaned up.
    """
    if sys.stdout.isatty():  # a drawn panel hides the message
        click.echo(_SHOW_CURSOR, nl=False)
    click.echo(f"krucible: {death.text}\nhealing, cleaning up, and judging the recorded history", err=True)
    failure = _cleared(death, runs)
    folder = death.under_way
    if folder is None:
        raise failure or KrucibleError(
            "a run could not begin", got=death.text, next_step="krucible heal, then the same command again"
        )
    failure = _kept(death, folder) or failure
    verdict = judge_left(folder, death.text)
    if failure is not None and verdict.validity is not Validity.INVALID:
        raise failure
    return RunJudged(folder, verdict)


def _kept(death: Death, folder: Path) -> KrucibleError | None:
    """Save the process's stderr; an error while saving does not prevent the judgement."""
    try:
        with disk_errors_named():
            save_stderr(folder, death.last_lines)
    except KrucibleError as error:
        return error
    return None


def clear_away(death: Death, runs: Path) -> None:
    """Clean up after a process that died between two runs, e.g. remove the next run's cluster.

    Raises:
        KrucibleError: Docker or a disk refuses.
    """
    click.echo(f"krucible: between two runs {death.text}", err=True)
    if failure := _cleared(death, runs):
        raise failure


def _cleared(death: Death, runs: Path) -> KrucibleError | None:
    """End its faults and remove its clusters; returns why that failed, or None."""
    known = {folder.resolve() for folder in death.begun}
    try:
        with engine_errors_named(), disk_errors_named(), closing(connect()) as client:
            for left in heal_after(
                client, death.owner, run_folders(runs), lambda line: click.echo(line, err=True)
            ):
                if left.folder.resolve() not in known:  # it was waiting, and never began
                    shutil.rmtree(left.folder)
    except KrucibleError as error:
        click.echo(f"krucible: {error}\nkrucible heal removes what is left", err=True)
        return error
    return None


def judge_left(folder: Path, how: str, output: IO[bytes] | None = None) -> Verdict:
    """Judge the run of a dead process, in a separate process.

    Args:
        folder: folder of the run.
        how: how the process ended.
        output: where the verdict is printed; by default this process's output.

    Raises:
        KrucibleError: the judgement failed.
    """
    with disk_errors_named():  # the process may have died after the judgement
        (folder / VERDICT_FILE).unlink(missing_ok=True)
    with start(JUDGING, folder, how, stdout=output, stderr=output) as judging:
        try:
            code = judging.wait()
        except BaseException:
            judging.kill()
            raise
    if code not in EXIT_CODES.values():
        ended = signal.Signals(-code).name if code < 0 else f"code {code}"
        raise KrucibleError(
            "the history of a run that died could not be judged",
            got=f"judging ended with {ended}; before that {how}",
            where=str(folder),
            next_step=f"krucible check {shlex.quote(str(folder))}",
        )
    return load_verdict(folder)
