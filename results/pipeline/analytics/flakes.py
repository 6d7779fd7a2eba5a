"""Scenarios whose runs do not all end alike, though they were asked for alike."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from results.pipeline.schemas import BOOLEAN, DOUBLE, LONG, TEXT, column
from results.wilson import Z

VALIDITIES = ("valid", "invalid", "unknown")

FLAKES = StructType(
    [
        column("scenario", TEXT, "name of the scenario"),
        column("kafka_version", TEXT, "Kafka's version that ran"),
        column("options", TEXT, "the line that runs it again, without its seed"),
        column("runs", LONG, "runs of it, replays left out here and in all that follows"),
        column("seeds", LONG, "different seeds among them"),
        column("valid", LONG, "runs that ended valid"),
        column("invalid", LONG, "runs that ended invalid"),
        column("unknown", LONG, "runs that ended unknown"),
        column("unexpected", LONG, "runs whose verdict was not the expected one"),
        column("flaky", BOOLEAN, "whether they ended in more than one way"),
        column("flake_rate", DOUBLE, "share of the runs that did not end as most did"),
        column("flake_rate_low", DOUBLE, "lower end of its Wilson interval, 95 %"),
        column("flake_rate_high", DOUBLE, "upper end of its Wilson interval, 95 %"),
    ]
)


def flakes(runs: DataFrame) -> DataFrame:
    """How often runs of one scenario, version and options ended unlike most of them.

    Replays are left out: they repeat a schedule that somebody chose, most often because it was red.
    """
    asked = F.regexp_replace("options", r"\s+--seeds?[ =]\S+", "")
    outcomes = {name: F.count_if(F.col("validity") == name).alias(name) for name in VALIDITIES}
    odd = F.col("runs") - F.greatest(*VALIDITIES)
    low, high = wilson(odd, F.col("runs"))
    return (
        runs.where(F.col("replay_of").isNull())
        .withColumn("options", asked)
        .groupBy("scenario", "kafka_version", "options")
        .agg(
            F.count(F.lit(1)).alias("runs"),
            F.countDistinct("seed").alias("seeds"),
            *outcomes.values(),
            F.count_if(~F.col("as_expected")).alias("unexpected"),
        )
        .withColumns({"flaky": odd > 0, "flake_rate": odd / F.col("runs")})
        .withColumns({"flake_rate_low": low, "flake_rate_high": high})
        .select(*FLAKES.names)
    )


def wilson(successes: Column, trials: Column) -> tuple[Column, Column]:
    """The interval of `results.wilson` as columns; null where there were no trials."""
    rate, z2 = successes / trials, Z * Z
    middle = rate + z2 / (2 * trials)
    half = Z * F.sqrt(rate * (1 - rate) / trials + z2 / (4 * trials * trials))
    whole = 1 + z2 / trials
    # Rounding must not put the ends outside of what a rate can be.
    low, high = F.greatest(F.lit(0.0), (middle - half) / whole), F.least(F.lit(1.0), (middle + half) / whole)
    return F.when(trials > 0, low), F.when(trials > 0, high)
