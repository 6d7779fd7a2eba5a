"""Verdicts, latency, unavailability and new failures by day and version."""

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from checkers.history.units import NS_PER_MS
from results.pipeline.schemas import DOUBLE, LONG, PARTITIONED_BY, column, table

ACCURACY = 10_000
"""Accuracy of the quantile over all runs: the error of its rank is at most one in this many."""

TREND = StructType(
    [
        *(field for field in table() if field.name in PARTITIONED_BY),
        column("runs", LONG, "runs that began on this day, replays left out"),
        column("valid", LONG, "number of these that ended valid"),
        column("invalid", LONG, "number of these that ended invalid"),
        column("unknown", LONG, "number of these that ended unknown"),
        column("unexpected", LONG, "number of these whose verdict was not the expected one"),
        column("replays", LONG, "replays that began on this day; the columns below include them"),
        column("operations", LONG, "records sent, records returned, and operations that are neither"),
        column(
            "sends_p99_ms",
            DOUBLE,
            "99th percentile of the latency of acknowledged sends and transactions, over all runs",
        ),
        column("faults", LONG, "faults that were injected"),
        column(
            "unavailable_ms_p50",
            DOUBLE,
            "median of the longest gap of each fault, without faults that have no gap",
        ),
        column("unavailable_ms_max", DOUBLE, "the longest gap"),
        column("signatures", LONG, "signatures of illegal anomalies"),
        column("new_signatures", LONG, "number of these that no lower version and no earlier day has"),
    ]
)


def trend(
    runs: DataFrame,
    operations: DataFrame,
    availability_by_fault: DataFrame,
    anomalies: DataFrame,
    signatures: DataFrame,
) -> DataFrame:
    """Outcomes, latency, gaps and new failures, by UTC day and version of Kafka.

    Args:
        runs: the table `runs`.
        operations: the table `operations`.
        availability_by_fault: `AVAILABILITY_BY_FAULT`.
        anomalies: the table `anomalies`.
        signatures: `SIGNATURES`.

    Returns:
        `TREND`, one row for each day and version with a run; runs without a version have rows, too.
    """
    parts = (
        _of_runs(runs),
        _of_sends(operations),
        _of_faults(availability_by_fault),
        _of_signatures(anomalies, signatures),
    )
    # A union with an aggregation, because a join would drop rows whose version is null.
    every = reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), parts)
    measured = [name for name in TREND.names if name not in PARTITIONED_BY]
    counts = {f.name: F.lit(0).cast(LONG) for f in TREND if f.name in measured and f.dataType == LONG}
    return (
        every.groupBy(*PARTITIONED_BY)
        .agg(*(F.max(name).alias(name) for name in measured))
        .withColumns({name: F.coalesce(name, zero) for name, zero in counts.items()})
        .select(*TREND.names)
    )


def _of_runs(runs: DataFrame) -> DataFrame:
    validities = ("valid", "invalid", "unknown")
    planned = F.col("replay_of").isNull()
    return runs.groupBy(*PARTITIONED_BY).agg(
        F.count_if(planned).alias("runs"),
        *(F.count_if(planned & (F.col("validity") == name)).alias(name) for name in validities),
        F.count_if(planned & ~F.col("as_expected")).alias("unexpected"),
        F.count_if(~planned).alias("replays"),
        F.sum("operations").alias("operations"),
    )


def _of_sends(operations: DataFrame) -> DataFrame:
    p99_ns = F.percentile_approx("latency_ns", 0.99, ACCURACY)
    return (
        operations.where(F.col("f").isin("send", "txn") & (F.col("type") == "ok"))
        .groupBy(*PARTITIONED_BY)
        .agg((p99_ns / NS_PER_MS).alias("sends_p99_ms"))
    )


def _of_faults(availability_by_fault: DataFrame) -> DataFrame:
    return availability_by_fault.groupBy(*PARTITIONED_BY).agg(
        F.count(F.lit(1)).alias("faults"),
        F.median("unavailable_ms").alias("unavailable_ms_p50"),
        F.max("unavailable_ms").alias("unavailable_ms_max"),
    )


def _of_signatures(anomalies: DataFrame, signatures: DataFrame) -> DataFrame:
    new = (F.col("kafka_version") == F.col("first_version")) & (F.col("date") == F.col("version_date"))
    first = signatures.where("illegal").select("signature", "first_version")
    seen = anomalies.join(first, "signature").groupBy("signature", "first_version", *PARTITIONED_BY).count()
    dates = (
        seen.where(F.col("kafka_version") == F.col("first_version"))
        .groupBy("signature")
        .agg(F.min("date").alias("version_date"))
    )
    return (
        seen.join(dates, "signature", "left")
        .groupBy(*PARTITIONED_BY)
        .agg(F.count(F.lit(1)).alias("signatures"), F.count_if(new).alias("new_signatures"))
    )
