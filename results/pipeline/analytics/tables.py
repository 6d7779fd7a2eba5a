"""All analytics by name: inputs, function, columns."""

from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from graphlib import TopologicalSorter
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from results.pipeline.analytics import availability as gaps
from results.pipeline.analytics import coverage as states
from results.pipeline.analytics import flakes, latency, leadership, load, pulses, recovery, signatures, trend
from results.pipeline.errors import spark_errors_named
from results.pipeline.schemas import PARTITIONED_BY


class Analytic(NamedTuple):
    """A computed table.

    Attributes:
        inputs: names of tables of runs, or of analytics above; they are the arguments of the function.
        function: computes the table.
        schema: its columns and their meaning.
        partitioned_by: columns that are folders; empty for a small table of all runs.
        kept: whether others are computed from it, so that it is computed once.
        published: whether it becomes a table, instead of only an input of others.
    """

    inputs: tuple[str, ...]
    function: Callable[..., DataFrame]
    schema: StructType
    partitioned_by: tuple[str, ...] = PARTITIONED_BY
    kept: bool = False
    published: bool = True


_ALL: Mapping[str, Analytic] = {
    "pulses": Analytic(
        ("records", "operations"),
        pulses.pulses,
        pulses.PULSES,
        partitioned_by=(),
        kept=True,
        published=False,
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
    "leadership": Analytic(("cluster_state",), leadership.leadership, leadership.LEADERSHIP, kept=True),
    "under_replicated": Analytic(
        ("cluster_state",), leadership.under_replicated, leadership.UNDER_REPLICATED, kept=True
    ),
    "heals": Analytic(
        ("faults", "runs"), recovery.heals, recovery.HEALS, partitioned_by=(), kept=True, published=False
    ),
    "recovery": Analytic(
        ("pulses", "availability", "under_replicated", "leadership", "heals", "runs"),
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
_READ_ONCE = ("runs", "faults")
"""Small tables with many small files that most analytics read."""
_AT_ONCE = 4
"""Threads: enough to keep two CPUs busy while Spark plans; each one needs memory for its result."""

ANALYTICS: Mapping[str, Analytic] = {name: each for name, each in _ALL.items() if each.published}
"""Analytics that become tables, each after its inputs."""


def analyse(tables: Mapping[str, DataFrame], take: Callable[[str, DataFrame], None]) -> None:
    """Compute the frames of all `ANALYTICS`, several at once because planning takes longer than computing.

    Args:
        tables: the frames of `results.pipeline.schemas.TABLES`, all of one snapshot.
        take: called with a name and its frame, in any order and in several threads; a frame that is the input
            of others is computed already.

    Raises:
        PipelineError: Spark failed; computations in progress have ended.
    """
    frames = dict(tables)
    order = TopologicalSorter({name: {*each.inputs} & {*_ALL, *_READ_ONCE} for name, each in _ALL.items()})
    order.prepare()
    pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="analytics")
    try:
        computing: dict[Future[DataFrame], str] = {}
        taking: list[Future[None]] = []
        while order.is_active():
            for name in order.get_ready():
                computing[pool.submit(_computed, name, frames)] = name
            for ended in wait(computing, return_when=FIRST_COMPLETED).done:
                name = computing.pop(ended)
                frames[name] = ended.result()
                order.done(name)
                if name in ANALYTICS:
                    taking.append(pool.submit(take, name, frames[name]))
        for each in taking:
            each.result()
    finally:
        pool.shutdown(cancel_futures=True)


def _computed(name: str, frames: Mapping[str, DataFrame]) -> DataFrame:
    """The frame of that name; it is computed and kept if others are computed from it.

    It is not persisted, because Spark would plan its inputs again for each use, which takes longer than to
    compute them.
    """
    with spark_errors_named("compute the tables"):
        if name in _READ_ONCE:
            return frames[name].localCheckpoint()
        each = _ALL[name]
        frame = each.function(**{source: frames[source] for source in each.inputs})
        return frame.localCheckpoint() if each.kept else frame
