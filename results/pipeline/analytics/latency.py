"""Latency of calls during each kind of fault, and outside of faults.

Overlapping faults of a kind are one window.  A call that touches several windows of a kind counts only in the
first one.  The times without any fault are the windows of no fault.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from checkers.history.phases import PHASE
from checkers.history.units import NS_PER_MS
from results.pipeline.analytics.availability import lasting
from results.pipeline.analytics.overlaps import SpanColumns, overlapping
from results.pipeline.schemas import DOUBLE, LONG, TEXT, column, table

NO_FAULT = "none"
"""Kind of fault for times without a fault."""
HARNESS = (
    *(PHASE, "setup", "observe", "inject", "heal", "recover"),
    *("await", "perform", "configure", "moves", "control"),
)
"""Operations of the harness itself, which are not calls of a client."""
QUANTILES = {"p50_ms": 0.5, "p90_ms": 0.9, "p99_ms": 0.99, "p999_ms": 0.999}

LATENCY = table(
    column("f", TEXT, "what was done"),
    column("fault_kind", TEXT, "kind of fault that the calls overlap; `none`: no fault"),
    column("calls", LONG, "calls that ended `ok`; a call that overlaps faults of two kinds counts in both"),
    column("p50_ms", DOUBLE, "median, interpolated as the other quantiles are"),
    column("p90_ms", DOUBLE, "90th percentile"),
    column("p99_ms", DOUBLE, "99th percentile"),
    column("p999_ms", DOUBLE, "99.9th percentile"),
    column("max_ms", DOUBLE, "the longest"),
)


def latency(operations: DataFrame, faults: DataFrame, runs: DataFrame) -> DataFrame:
    """Quantiles of the latency of calls that ended `ok`, by function and kind of fault.

    Args:
        operations: the table `operations`; operations of the harness itself (`HARNESS`) are left out.
        faults: the table `faults`.
        runs: the table `runs`; it gives the end of faults whose heal was not seen.

    Returns:
        `LATENCY`, one row for each run, function and kind of fault; `NO_FAULT` has the calls that were made
        wholly outside of faults.
    """
    calls = (
        operations.where((F.col("type") == "ok") & ~F.col("f").isin(*HARNESS))
        .where(F.col("completed_ns").isNotNull())
        .select("run_id", "f", "invoked_ns", "completed_ns", "latency_ns")
    )
    windows = fault_windows(faults, runs)
    touched = (F.col("fault_kind") != NO_FAULT) & (F.col("invoked_ns") > F.col("before_ns"))
    within = (F.col("invoked_ns") >= F.col("from_ns")) & (F.col("completed_ns") <= F.col("until_ns"))
    return (
        overlapping(
            calls, SpanColumns("invoked_ns", "completed_ns"), windows, SpanColumns("from_ns", "until_ns")
        )
        .where(touched | ((F.col("fault_kind") == NO_FAULT) & within))
        .groupBy("run_id", "f", "fault_kind")
        .agg(
            F.count(F.lit(1)).alias("calls"),
            F.percentile("latency_ns", list(QUANTILES.values())).alias("quantiles_ns"),
            F.max("latency_ns").alias("max_ns"),
        )
        .withColumns({name: F.col("quantiles_ns")[place] / NS_PER_MS for place, name in enumerate(QUANTILES)})
        .withColumn("max_ms", F.col("max_ns") / NS_PER_MS)
        .join(runs.select("run_id", "date", "kafka_version"), "run_id")
        .select(*LATENCY.names)
    )


def fault_windows(faults: DataFrame, runs: DataFrame) -> DataFrame:
    """Times at which faults of each kind, or none, may have been in force.

    Returns:
        `run_id`, `fault_kind`, `from_ns`, `until_ns` (both inclusive) and `before_ns`, the end of the
        previous window of the same kind; windows of one kind do not overlap.
    """
    kinds = F.explode(F.array(F.col("kind"), F.lit(NO_FAULT))).alias("fault_kind")
    # Times between the windows of all faults are without a fault; the last one ends with the run.
    past_ns = F.col("ended_ns") + 1
    ends = runs.where(past_ns.isNotNull()).select(
        "run_id", F.lit(NO_FAULT).alias("fault_kind"), past_ns.alias("asked_ns"), past_ns.alias("over_ns")
    )
    lasted = lasting(faults, runs).select("run_id", kinds, "asked_ns", "over_ns")
    quiet = F.col("fault_kind") == NO_FAULT
    return (
        _merged(lasted.unionByName(ends))
        .select(
            "run_id",
            "fault_kind",
            F.when(quiet, F.col("before_ns") + 1).otherwise(F.col("from_ns")).alias("from_ns"),
            F.when(quiet, F.col("from_ns") - 1).otherwise(F.col("until_ns")).alias("until_ns"),
            "before_ns",
        )
        .where(F.col("from_ns") <= F.col("until_ns"))
    )


def _merged(lasted: DataFrame) -> DataFrame:
    """Join overlapping windows of one kind."""
    kind = Window.partitionBy("run_id", "fault_kind").orderBy("asked_ns", "over_ns")
    before = kind.rowsBetween(Window.unboundedPreceding, -1)
    up_to_here = kind.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    apart = F.col("asked_ns") > F.coalesce(F.max("over_ns").over(before), F.lit(-1))
    last = Window.partitionBy("run_id", "fault_kind").orderBy("from_ns").rowsBetween(-1, -1)
    return (
        lasted.withColumn("apart", apart.cast("int"))
        .withColumn("window", F.sum("apart").over(up_to_here))
        .groupBy("run_id", "fault_kind", "window")
        .agg(F.min("asked_ns").alias("from_ns"), F.max("over_ns").alias("until_ns"))
        .withColumn("before_ns", F.coalesce(F.first("until_ns").over(last), F.lit(-1).cast(LONG)))
        .select("run_id", "fault_kind", "from_ns", "until_ns", "before_ns")
    )
