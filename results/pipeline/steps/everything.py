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
    """What each step did; `checked` has what was judged during the ingest, too."""

    ingested: Ingested
    checked: Checked
    computed: Computed


def bring_up_to_date(opening: Opening, root: Path, tables: Path, progress: Progress) -> StepResults:
    """Ingest, judge and compute what is new; without news no session is opened.

    Where none of the runs can be ingested, nothing is judged or computed: what was done says why of each.
    Each step has a snapshot of its own: killed at any moment, this leaves the tables as one of them did.

    Args:
        opening: opens a session for a block; called once at most.
        root: the store; folders at any depth.
        tables: the folder of the tables.
        progress: is told how far it has come.

    Raises:
        PipelineError: Spark failed, or another command writes the tables.
        OSError: a disk is full or refuses; the tables are as the step before left them.
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
    """Opens one session for all who ask in the block; none, if nobody does."""
    with ExitStack() as stack:
        session = cache(lambda: stack.enter_context(opening()))
        yield lambda: nullcontext(session())
