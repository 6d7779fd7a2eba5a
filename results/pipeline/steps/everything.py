"""All steps of the pipeline, in one session and with one pass over the journals."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

from results.pipeline.analytics.updating import Computed, compute
from results.pipeline.snapshots.snapshot import holds_runs
from results.pipeline.spark.progress import Progress
from results.pipeline.steps.check import check
from results.pipeline.steps.checked import Checked, together
from results.pipeline.steps.ingest import Ingested, Opening, ingest


class StepResults(NamedTuple):
    """Result of each step; `checked` includes runs that were judged during the ingest."""

    ingested: Ingested
    checked: Checked
    computed: Computed


def bring_up_to_date(opening: Opening, root: Path, tables: Path, progress: Progress) -> StepResults:
    """Ingest, judge and compute what is new; if nothing is new, no session is opened.

    If no run can be ingested, nothing is judged or computed, and the result has the reason for each run.
    Each step writes its own snapshot, so a killed process leaves the tables of the last finished step.

    Args:
        opening: opens a session for a block; called at most once.
        root: the store; folders at any depth.
        tables: the folder of the tables.
        progress: called with the progress.

    Raises:
        PipelineError: Spark failed, or another command writes the tables.
        OSError: a disk is full or refuses; the tables are those of the last finished step.
    """
    with _shared(opening) as session:
        ingested = ingest(session, root, tables, progress, judging=True)
        checked = together(ingested.judged, check(session, tables, progress))
        computed = compute(session, tables, progress) if holds_runs(tables) else Computed(())
        return StepResults(ingested, checked, computed)


@contextmanager
def _shared(
    opening: Callable[[], AbstractContextManager[SparkSession]],
) -> Iterator[Callable[[], AbstractContextManager[SparkSession]]]:
    """Open one session, at its first use in the block, and share it."""
    with ExitStack() as stack:
        session = cache(lambda: stack.enter_context(opening()))
        yield lambda: nullcontext(session())
