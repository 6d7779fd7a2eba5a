"""Interesting states that runs reached: the counters of `results.run.coverage`, by run and by version."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from results.pipeline.schemas import LONG, TEXT, column, table
from results.run.coverage import COUNTERS

COVERAGE = table(
    column("state", TEXT, "name of the counter"),
    column("label", TEXT, "what it counts"),
    column("count", LONG, "how often the run reached it"),
)
COVERAGE_REACHED = StructType(
    [
        column("kafka_version", TEXT, "Kafka's version that ran"),
        column("state", TEXT, "name of the counter"),
        column("label", TEXT, "what it counts"),
        column("runs", LONG, "runs that reported it"),
        column("reached", LONG, "runs that reached it at least once; 0: a gap"),
        column("count", LONG, "how often in all runs"),
    ]
)


def coverage(verdicts: DataFrame) -> DataFrame:
    """All counters that checkers reported, by run, also those that are 0.

    Args:
        verdicts: the table `verdicts`; the counters are in the JSON of its column `figures`.

    Returns:
        `COVERAGE`, one row for each run and counter.  A run whose checker reported no such counter, such as
        one of an earlier krucible, has no row.
    """
    counted = [
        F.when(
            F.col("checker") == counter.checker,
            F.struct(
                F.lit(counter.figure).alias("state"),
                F.lit(counter.label).alias("label"),
                F.get_json_object("figures", f"$.{counter.figure}").try_cast("long").alias("count"),
            ),
        )
        for counter in COUNTERS
    ]
    return (
        verdicts.where(F.col("checker").isin(*{counter.checker for counter in COUNTERS}))
        .withColumn("counter", F.explode(F.array(*counted)))
        .where(F.col("counter.count").isNotNull())
        .withColumns({name: F.col(f"counter.{name}") for name in ("state", "label", "count")})
        .select(*COVERAGE.names)
    )


def coverage_reached(coverage: DataFrame) -> DataFrame:
    """All counters, summed over the runs of a version of Kafka.

    Returns:
        `COVERAGE_REACHED`, one row for each version and counter.
    """
    return (
        coverage.groupBy("kafka_version", "state", "label")
        .agg(
            F.count(F.lit(1)).alias("runs"),
            F.count_if(F.col("count") > 0).alias("reached"),
            F.sum("count").alias("count"),
        )
        .select(*COVERAGE_REACHED.names)
    )
