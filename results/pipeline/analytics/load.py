"""Records per second, and calls with unknown outcome."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from results.pipeline.analytics.latency import HARNESS
from results.pipeline.analytics.pulses import PULSES_A_SECOND
from results.pipeline.schemas import DOUBLE, LONG, TEXT, column, table

LONGEST_ERROR = 200
"""Maximum number of characters of an error."""

THROUGHPUT = table(
    column("second", LONG, "since the start of the run, from 0; seconds in which no call ended are left out"),
    column("sent_ok", LONG, "records acknowledged in this second"),
    column(
        "sent_fail", LONG, "records that were certainly not appended, or whose transaction did not commit"
    ),
    column("sent_info", LONG, "records whose outcome the client does not know"),
    column("read", LONG, "records that polls returned"),
    column("read_finally", LONG, "records that the final read returned"),
)
INDETERMINATE = table(
    column("f", TEXT, "what was done"),
    column("error", TEXT, "error of the client, with `#` for numbers; null if the call never returned"),
    column("calls", LONG, "calls with this error"),
    column("calls_of_f", LONG, "all calls of this function in the run"),
    column("rate", DOUBLE, "`calls` divided by `calls_of_f`"),
)


def throughput(pulses: DataFrame, runs: DataFrame) -> DataFrame:
    """Records by run and second since the run's start; calls that never returned are left out.

    Returns:
        `THROUGHPUT`, one row for each second in which a call ended.
    """

    def of(kind: str, outcome: str | None = None) -> Column:
        meant = (F.col("kind") == kind) & (F.lit(outcome is None) | (F.col("outcome") == outcome))
        return F.sum(F.when(meant, F.col("records")).otherwise(0))

    return (
        pulses.where(~F.col("outcome").eqNullSafe("open"))
        .groupBy("run_id", F.floor(F.col("tenth") / PULSES_A_SECOND).alias("second"))
        .agg(
            of("send", "ok").alias("sent_ok"),
            of("send", "fail").alias("sent_fail"),
            of("send", "info").alias("sent_info"),
            of("read").alias("read"),
            of("final-read").alias("read_finally"),
        )
        .join(runs.select("run_id", "date", "kafka_version"), "run_id")
        .select(*THROUGHPUT.names)
    )


def indeterminate(operations: DataFrame, runs: DataFrame) -> DataFrame:
    """Calls that ended `info`, or did not end, by error.

    Errors that differ only in numbers are one; of each the first `LONGEST_ERROR` characters are kept.

    Returns:
        `INDETERMINATE`, one row for each run, function and error.
    """
    unknown = F.col("type").isin("info", "open")
    every = Window.partitionBy("run_id", "f").rowsBetween(
        Window.unboundedPreceding, Window.unboundedFollowing
    )
    return (
        operations.where(~F.col("f").isin(*HARNESS))
        .groupBy("run_id", "f", unknown.alias("unknown"), F.when(unknown, _normal("error")).alias("error"))
        .agg(F.count(F.lit(1)).alias("calls"))
        .withColumn("calls_of_f", F.sum("calls").over(every))
        .where(F.col("unknown"))
        .withColumn("rate", F.col("calls") / F.col("calls_of_f"))
        .join(runs.select("run_id", "date", "kafka_version"), "run_id")
        .select(*INDETERMINATE.names)
    )


def _normal(name: str) -> Column:
    """A text without the parts that differ from run to run."""
    return F.substring(F.regexp_replace(name, r"\d+", "#"), 1, LONGEST_ERROR)
