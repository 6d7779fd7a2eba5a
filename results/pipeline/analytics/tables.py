"""All analytics by their names: what each is computed from, by which function, with which columns."""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

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


def analysed(tables: Mapping[str, DataFrame]) -> Iterator[tuple[str, DataFrame]]:
    """Names and frames of all `ANALYTICS`, in their order; those that others are computed from, computed.

    Args:
        tables: the frames of `results.pipeline.schemas.TABLES`, all of one snapshot.
    """
    frames = dict(tables)
    for name, each in _ALL.items():
        frame = each.function(**{source: frames[source] for source in each.inputs})
        # Not persisted: Spark would plan all that a kept frame was made from again with whatever uses it,
        # which takes longer than computing does.
        frames[name] = frame.localCheckpoint() if each.kept else frame
        if each.published:
            yield name, frames[name]
