"""How long calls took, within each kind of fault and outside all of them.

The faults of a kind that overlap are one window, so that if a call touches several windows of a kind, it
counts in the first one only; the times between all faults are the windows of no fault.
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from checkers.history.phases import PHASE
from checkers.history.units import NS_PER_MS
from results.pipeline.analytics.availability import lasting
from results.pipeline.analytics.overlaps import SpanColumns, overlapping
from results.pipeline.schemas import DOUBLE, LONG, TEXT, column, table

NO_FAULT = "none"
"""What stands for the kind of fault where no fault was in force."""
HARNESS = (
    *(PHASE, "setup", "observe", "inject", "heal", "recover"),
    *("await", "perform", "configure", "moves", "control"),
)
"""Operations that are the harness's own, and no calls of a client."""
QUANTILES = {"p50_ms": 0.5, "p90_ms": 0.9, "p99_ms": 0.99, "p999_ms": 0.999}

LATENCY = table(
    column("f", TEXT, "what was done"),
    column("fault_kind", TEXT, "kind of fault that the calls overlap; `none`: they overlap no fault"),
    column("calls", LONG, "calls that ended `ok`; one that overlaps faults of two kinds counts in both"),
    column("p50_ms", DOUBLE, "median, interpolated as all of these"),
    column("p90_ms", DOUBLE, "nine of ten took no longer"),
    column("p99_ms", DOUBLE, "99 of 100 took no longer"),
    column("p999_ms", DOUBLE, "999 of 1,000 took no longer"),
    column("max_ms", DOUBLE, "the longest"),
)


def latency(operations: DataFrame, faults: DataFrame, runs: DataFrame) -> DataFrame:
    """Quantiles of the time that calls took, for each function in and out of each kind of fault."""
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
    """When faults of each kind, and when none, may have been in force.

    Returns:
        `run_id`, `fault_kind`, `from_ns`, `until_ns` (both included) and `before_ns`, the end of the window
        of the same kind before it; windows of one kind share no instant.
    """
    kinds = F.explode(F.array(F.col("kind"), F.lit(NO_FAULT))).alias("fault_kind")
    # What lies between the windows of all faults together is no fault's; the last of it ends with the run.
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
    """Windows of one kind that overlap, as one."""
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
