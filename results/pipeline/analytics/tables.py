"""All analytics by their names: what each is computed from, by which function, with which columns."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from results.pipeline.analytics import availability as gaps
from results.pipeline.analytics import coverage as states
from results.pipeline.analytics import flakes, latency, leadership, load, pulses, recovery, signatures, trend
from results.pipeline.schemas import PARTITIONED_BY


class Analytic(NamedTuple):
    """One table that is computed.

    Attributes:
        inputs: names of tables of runs, or of analytics above: the function's arguments.
        function: what computes it.
        schema: its columns with what they mean.
        partitioned_by: columns that are folders; none where it is one small table of all runs.
        kept: whether others are computed from it, so that it is computed once.
        published: whether it becomes a table, and not only other analytics' input.
    """

    inputs: tuple[str, ...]
    function: Callable[..., DataFrame]
    schema: StructType
    partitioned_by: tuple[str, ...] = PARTITIONED_BY
    kept: bool = False
    published: bool = True


_ALL: Mapping[str, Analytic] = {
    "pulses": Analytic(
        ("records",), pulses.pulses, pulses.PULSES, partitioned_by=(), kept=True, published=False
    ),
    "availability": Analytic(("pulses", "runs"), gaps.availability, gaps.AVAILABILITY, kept=True),
    "availability_in_faults": Analytic(
        ("availability", "faults", "runs"),
        gaps.availability_in_faults,
        gaps.AVAILABILITY_IN_FAULTS,
        kept=True,
    ),
    "availability_by_fault": Analytic(
        ("availability_in_faults", "faults"),
        gaps.availability_by_fault,
        gaps.AVAILABILITY_BY_FAULT,
        kept=True,
    ),
    "leadership": Analytic(
        ("cluster_state", "runs"), leadership.leadership, leadership.LEADERSHIP, kept=True
    ),
    "under_replicated": Analytic(
        ("cluster_state",), leadership.under_replicated, leadership.UNDER_REPLICATED, kept=True
    ),
    "recovery": Analytic(
        ("pulses", "availability", "under_replicated", "leadership", "faults", "runs"),
        recovery.recovery,
        recovery.RECOVERY,
    ),
    "latency": Analytic(("operations", "faults", "runs"), latency.latency, latency.LATENCY),
    "throughput": Analytic(("pulses", "runs"), load.throughput, load.THROUGHPUT),
    "indeterminate": Analytic(("operations", "runs"), load.indeterminate, load.INDETERMINATE),
    "coverage": Analytic(("verdicts",), states.coverage, states.COVERAGE, kept=True),
    "coverage_reached": Analytic(
        ("coverage",), states.coverage_reached, states.COVERAGE_REACHED, partitioned_by=()
    ),
    "flakes": Analytic(("runs",), flakes.flakes, flakes.FLAKES, partitioned_by=()),
    "signatures": Analytic(
        ("anomalies", "runs"), signatures.signatures, signatures.SIGNATURES, partitioned_by=(), kept=True
    ),
    "trend": Analytic(
        ("runs", "operations", "availability_by_fault", "anomalies", "signatures"),
        trend.trend,
        trend.TREND,
        partitioned_by=(),
    ),
}
ANALYTICS: Mapping[str, Analytic] = {name: each for name, each in _ALL.items() if each.published}
"""Those that become tables, each after those that it is computed from."""


@contextmanager
def analysed(tables: Mapping[str, DataFrame]) -> Iterator[Mapping[str, DataFrame]]:
    """The frames of all `ANALYTICS`, to be written in their order within the ``with``.

    What several are computed from is persisted by the first that is written, and released at the end.

    Args:
        tables: the frames of `results.pipeline.schemas.TABLES`; those of runs whose folder is the same table
            must be of one snapshot.
    """
    frames = dict(tables)
    with ExitStack() as kept:
        for name, each in _ALL.items():
            frame = each.function(**{source: frames[source] for source in each.inputs})
            if each.kept:
                frame = frame.persist(StorageLevel.MEMORY_AND_DISK)
                kept.callback(frame.unpersist)
            frames[name] = frame
        yield {name: frames[name] for name in ANALYTICS}
