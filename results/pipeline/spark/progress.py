"""Shows the progress of Spark: a bar on a terminal, otherwise one line every ten per cent."""

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from pyspark import StatusTracker
from pyspark.sql import SparkSession

POLL_S = 0.25
_STEP_PERCENT = 10


class Progress(Protocol):
    """Receives the progress of a piece of work."""

    def __call__(self, doing: str, done: int, total: int) -> None:
        """Called when `done` of `total` tasks or tables of the work named `doing` are done."""


class Lines:
    """Reports progress in lines, one every ten per cent.

    Args:
        echo: called with each line.
    """

    def __init__(self, echo: Callable[[str], None]) -> None:
        self._echo = echo
        self._reported: dict[str, int] = {}

    def __call__(self, doing: str, done: int, total: int) -> None:
        """Report if at least ten per cent more are done than at the last report."""
        percent = 100 * done // total // _STEP_PERCENT * _STEP_PERCENT if total else 0
        if percent > self._reported.get(doing, 0):
            self._reported[doing] = percent
            self._echo(f"{doing:<10} {percent:>3} %  ({done} of {total})")


@contextmanager
def watched(session: SparkSession, progress: Progress, doing: str) -> Iterator[None]:
    """Report the progress of the jobs that this thread starts in the block, also at its end."""
    context = session.sparkContext
    group, over = f"{doing}-{uuid.uuid4().hex}", threading.Event()
    tracker = context.statusTracker()

    def look() -> None:
        while not over.wait(POLL_S):
            progress(doing, *_tasks(tracker, group))

    context.setJobGroup(group, doing)
    watcher = threading.Thread(target=look, name="pipeline-progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
    # Spark notifies listeners later, and its total includes skipped tasks; here all tasks are done.
    _, total = _tasks(tracker, group)
    progress(doing, total, total)


def _tasks(tracker: StatusTracker, group: str) -> tuple[int, int]:
    """Number of finished tasks of a group of jobs, and number of tasks known to Spark so far."""
    jobs = (tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group))
    stages = {stage for job in jobs if job is not None for stage in job.stageIds}
    infos = [info for info in map(tracker.getStageInfo, stages) if info is not None]
    return sum(info.numCompletedTasks for info in infos), sum(info.numTasks for info in infos)
