"""A run that has ended: its folder, errors of the harness, and its verdict."""

from concurrent.futures import Future, wait
from pathlib import Path
from typing import NamedTuple

from checkers.history.operations import History
from checkers.history.reading import read_history
from checkers.judge import judge
from checkers.verdict.verdict import Verdict
from harness.cluster.engine import engine_errors_named
from harness.errors import KrucibleError, disk_errors_named


class RecordedRun(NamedTuple):
    """A run whose record is complete.

    Attributes:
        folder: folder of the run.
        harness_error: error of the harness itself, if there was one; the history also records it.
        removal: the removal of its cluster, in another thread.
    """

    folder: Path
    harness_error: KrucibleError | None
    removal: Future[None]

    @property
    @disk_errors_named()
    @engine_errors_named()
    def failure(self) -> KrucibleError | None:
        """The error of the harness, if any; waits for the removal of the cluster, and includes its errors."""
        error = self.removal.exception()
        if error is None or isinstance(error, KrucibleError):
            return self.harness_error or error
        raise error


class EndedRun(NamedTuple):
    """A run that was judged.

    Attributes:
        played: the recorded run.
        history: its history, read from its folder.
        verdict: its verdict.
    """

    played: RecordedRun
    history: History
    verdict: Verdict

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return self.played.folder

    @property
    def failure(self) -> KrucibleError | None:
        """The same as `RecordedRun.failure`."""
        return self.played.failure


def judged(played: RecordedRun) -> EndedRun:
    """Read the history of a run from its folder, and judge it, while its cluster is removed.

    Raises:
        HistoryError: the history can't be read; the cluster is removed.
    """
    try:
        history = read_history(played.folder)
        return EndedRun(played, history, judge(history))
    except BaseException:
        wait([played.removal])
        raise
