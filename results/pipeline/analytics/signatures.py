"""Failures by signature: when and in which versions each was first and last seen."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, StructType

from results.pipeline.schemas import BOOLEAN, LONG, TEXT, column

_NUMBERS = 4
"""Numbers of a version that are compared."""
SIGNATURES = StructType(
    [
        column("signature", TEXT, "equal for the same failure in other runs"),
        column("checker", TEXT, "the checker that finds it"),
        column("id", TEXT, "as in docs/anomalies.md"),
        column("illegal", BOOLEAN, "whether any of its anomalies breaks a guarantee"),
        column("runs", LONG, "runs that have it"),
        column("first_version", TEXT, "the lowest version that has it"),
        column("last_version", TEXT, "the highest version that has it"),
        column("runs_before", LONG, "runs of the same scenarios on lower versions; 0: none was tested"),
        column("first_date", DateType(), "UTC day of the first run that has it"),
        column("last_date", DateType(), "UTC day of the last run that has it"),
        column("example_run", TEXT, "`run_id` of the first run that has it"),
        column("example_scenario", TEXT, "its scenario"),
        column("summary", TEXT, "summary of the anomaly in that run"),
    ]
)


def signatures(anomalies: DataFrame, runs: DataFrame) -> DataFrame:
    """When and where each signature was seen, over all runs.

    Args:
        anomalies: the table `anomalies`; it has the signatures.
        runs: the table `runs`; it gives version and time.

    Returns:
        `SIGNATURES`, one row for each signature, also of legal anomalies.
    """
    key = version_key("kafka_version")
    keyed = runs.select("run_id", "scenario", "began_at", key.alias("version_key"))
    found = anomalies.join(keyed, "run_id")
    first = F.struct("began_at", "run_id")
    example = F.struct("run_id", "scenario", "summary")
    return (
        found.groupBy("signature")
        .agg(
            F.min("checker").alias("checker"),
            F.min("id").alias("id"),
            F.bool_or("illegal").alias("illegal"),
            F.countDistinct("run_id").alias("runs"),
            F.min(F.struct("version_key", "kafka_version")).alias("first"),
            F.max(F.struct("version_key", "kafka_version")).alias("last"),
            F.min("date").alias("first_date"),
            F.max("date").alias("last_date"),
            F.min_by(example, first).alias("example"),
        )
        .join(_runs_before(found, keyed), "signature", "left")
        .withColumns(
            {
                "first_version": F.col("first.kafka_version"),
                "last_version": F.col("last.kafka_version"),
                "runs_before": F.coalesce("runs_before", F.lit(0).cast(LONG)),
                "example_run": F.col("example.run_id"),
                "example_scenario": F.col("example.scenario"),
                "summary": F.col("example.summary"),
            }
        )
        .select(*SIGNATURES.names)
    )


def _runs_before(found: DataFrame, runs: DataFrame) -> DataFrame:
    """Number of runs of a signature's scenarios on versions below the first one that has it."""
    versions = runs.groupBy("scenario", F.col("version_key").alias("other_key")).agg(
        F.count(F.lit(1)).alias("other_runs")
    )
    first = found.groupBy("signature").agg(
        F.min("version_key").alias("first_key"), F.collect_set("scenario").alias("scenarios")
    )
    return (
        first.withColumn("scenario", F.explode("scenarios"))
        .join(versions, "scenario")
        .where(F.col("other_key") < F.col("first_key"))
        .groupBy("signature")
        .agg(F.sum("other_runs").alias("runs_before"))
    )


def version_key(name: str) -> Column:
    """Sort key of a column of Kafka's versions: 3.10 after 3.9, a release after its candidates.

    It is an array of numbers, always of the same length.  Texts that are not versions come first.
    """
    text = F.col(name)
    numbers = F.split(F.regexp_extract(text, r"^(\d{1,9}(\.\d{1,9})*)", 1), r"\.")
    padded = [_number(F.try_element_at(numbers, F.lit(place))) for place in range(1, _NUMBERS + 1)]
    candidate = F.regexp_extract(text, r"(?i)rc-?(\d{1,9})", 1)
    final = F.when(text.rlike(r"^\d+(\.\d+)*$"), 1).otherwise(0)
    return F.array(*padded, final, _number(candidate))


def _number(text: Column) -> Column:
    return F.coalesce(text.try_cast("int"), F.lit(0))
