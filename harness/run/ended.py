"""What is known of a run that has ended: where it was recorded, what went wrong, and its verdict."""

from concurrent.futures import Future
from pathlib import Path
from typing import NamedTuple

from checkers.history.operations import History
from checkers.verdict.verdict import Verdict
from harness.cluster.engine import engine_errors_named
from harness.errors import KrucibleError, disk_errors_named


class RecordedRun(NamedTuple):
    """A run of which all is recorded.

    Attributes:
        folder: the run's.
        mishap: what went wrong with the harness itself, if anything; the history records it too.
        going: its cluster, which is being taken away.
    """

    folder: Path
    mishap: KrucibleError | None
    going: Future[None]

    @property
    @disk_errors_named()
    @engine_errors_named()
    def failure(self) -> KrucibleError | None:
        """What went wrong with the harness, the removal of the cluster included, which is waited for."""
        error = self.going.exception()
        if error is None or isinstance(error, KrucibleError):
            return self.mishap or error
        raise error


class EndedRun(NamedTuple):
    """A run that was judged.

    Attributes:
        played: the run.
        history: read back from its folder.
        verdict: on it.
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
        """As promised by `RecordedRun.failure`."""
        return self.played.failure
