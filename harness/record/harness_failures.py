"""Exceptions in the harness during a run: they are recorded and reported, and do not end the run at once.

A dead worker, or an engine that refuses a request, ends the load and the faults.  The records of the run must
not be lost: faults are healed, evidence is collected, and the history is judged nevertheless.
"""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from checkers.history.runner import FAILURE, HarnessFailed
from harness.errors import KrucibleError
from harness.record.journal import JournalError, Recorder, describe

FAILURES_FILE = "failures.txt"
"""File with tracebacks of all failures of a run, to debug the harness."""


class RecordingStage(Protocol):
    """The part of a run's stage that failures need."""

    folder: Path
    recorder: Recorder

    def report(self, phase: str, detail: str = "", limit_s: float | None = None) -> None:
        """Report something about a phase, without recording it."""
        ...


class HarnessFailures:
    """The failures of one run.

    Args:
        stage: stage of the run.

    Attributes:
        failure: the first failure, as an error with a remedy; None if there was none.
        healed: whether all faults are healed; otherwise later failures are ignored.
    """

    def __init__(self, stage: RecordingStage) -> None:
        self._stage = stage
        self.failure: KrucibleError | None = None
        self.healed = False
        self._known: set[str] = set()

    @contextmanager
    def survived(self, during: str) -> Iterator[None]:
        """End the block at a failure, and continue after it.

        Args:
            during: what the block does, in a few words.

        Raises:
            JournalError: the history can't be written, so there is nothing to continue for.
        """
        try:
            yield
        except JournalError:
            raise
        except Exception as error:  # noqa: BLE001 - kept and reported; it is raised again once the run is judged
            self._keep(during, error)

    def _keep(self, during: str, error: Exception) -> None:
        """Record an error once, because the death of one worker may be reported several times."""
        if str(error) in self._known:
            return
        self._known.add(str(error))
        with suppress(OSError), (self._stage.folder / FAILURES_FILE).open("a", encoding="utf-8") as file:
            file.write("".join(traceback.format_exception(error)) + "\n")
        text = describe(error, separator="; ")
        self._stage.recorder.observe(FAILURE, during, HarnessFailed(text))
        self._stage.report(during, text)
        self.failure = self.failure or self._explained(during, error)

    def _explained(self, during: str, error: Exception) -> KrucibleError:
        if isinstance(error, KrucibleError):
            return error
        return KrucibleError(
            f"the harness failed during {during}",
            got=describe(error),
            where=str(self._stage.folder / FAILURES_FILE),
            next_step="report this: it is a defect of the harness",
        )
