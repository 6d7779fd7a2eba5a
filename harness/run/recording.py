"""The record of a run in progress: complete even if an error of the harness ends the run."""

from collections.abc import Iterator
from contextlib import contextmanager

from harness.errors import KrucibleError
from harness.record.harness_failures import HarnessFailures
from harness.record.journal import JournalError
from harness.run.ended import RecordedRun
from harness.run.stage import Stage
from harness.run.starting import ClusterNotReadyError
from harness.run.threads import already_done


class Recording:
    """A run while it is recorded.

    Attributes:
        run: the recorded run, once the block of `completed` has ended.
    """

    def __init__(self) -> None:
        self.run: RecordedRun
        self._begun = False
        self._stage: Stage
        self._failures: HarnessFailures

    def begin(self, stage: Stage) -> HarnessFailures:
        """Begin the part of the run that is judged even if the harness fails; returns its failures."""
        self._stage, self._failures = stage, HarnessFailures(stage)
        self._begun = True
        return self._failures

    @contextmanager
    def completed(self) -> Iterator[None]:
        """Make the run in the block, and complete its record.

        Raises:
            KrucibleError: there is nothing to judge, or the history could not be written.
        """
        last: KrucibleError | None = None
        try:
            yield
        except JournalError:
            raise
        except ClusterNotReadyError as error:
            self.run = RecordedRun(error.folder, None, already_done())
            return
        except KrucibleError as error:
            # If something can't be closed or removed, the observations are still valid.
            if not self._begun:
                raise
            last = error
        self.run = RecordedRun(self._stage.folder, self._failures.failure or last, self._stage.removal)
