"""Schedules that ran more than once on the same Kafka and did not end alike, by `results.repeats.flakes`."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from results.pipeline.schemas import BOOLEAN, DOUBLE, LONG, TEXT, column
from results.repeats.flakes import CHOICE_OF_KAFKA, REPLAYS, TWICE
from results.repeats.wilson import Z

VALIDITIES = ("valid", "invalid", "unknown")

FLAKES = StructType(
    [
        column("scenario", TEXT, "name of the scenario"),
        column("kafka_version", TEXT, "Kafka's version that ran"),
        column("options", TEXT, "the line that runs it again, without its seed"),
        column("runs", LONG, "runs of it, replays left out here and up to `unexpected`"),
        column("seeds", LONG, "different seeds among them"),
        column("valid", LONG, "runs that ended valid"),
        column("invalid", LONG, "runs that ended invalid"),
        column("unknown", LONG, "runs that ended unknown"),
        column("unexpected", LONG, "runs whose verdict was not the expected one"),
        column(
            "repeated", LONG, "runs and replays of them whose schedule ran more than once on the same Kafka"
        ),
        column("flaky", BOOLEAN, "whether any of these ended unlike most of its schedule"),
        column("flake_rate", DOUBLE, "share of the repeated runs that did; null where none was repeated"),
        column("flake_rate_low", DOUBLE, "lower end of its Wilson interval, 95 %"),
        column("flake_rate_high", DOUBLE, "upper end of its Wilson interval, 95 %"),
    ]
)


def flakes(runs: DataFrame) -> DataFrame:
    """Runs of one scenario, version and options, and how many ended unlike most of their schedule.

    Replays count for their run's schedule, and for nothing else; those of runs that are not here for nothing,
    and so do replays of replays.
    A candidate of ``krucible minimise`` names a run too, and has a schedule of its own.
    """
    place = ("scenario", "kafka_version", "options")
    content = F.coalesce("image_digest", "image_reference", F.lit(""))
    asked = F.regexp_replace("options", r"\s+--seeds?[ =]\S+", "")
    schedule = F.regexp_replace("options", CHOICE_OF_KAFKA, "")
    told = runs.withColumns({"content": content, "schedule": schedule, "options": asked})
    replayed = F.col("replay_of").isNotNull() & F.col("options").rlike(f"^{REPLAYS}")
    planned = told.where(~replayed)
    every = planned.unionByName(_with_their_schedule(told.where(replayed), planned))
    parts = (_counted(planned, place), _repeated(every, place))
    low, high = wilson(F.col("odd"), F.col("repeated"))
    measured = [*(f.name for f in FLAKES if f.name not in place and f.dataType == LONG), "odd"]
    # Put below each other and then together: no join, which a version that nobody knows would fall through.
    return (
        parts[0]
        .unionByName(parts[1], allowMissingColumns=True)
        .groupBy(*place)
        .agg(*(F.max(name).alias(name) for name in measured))
        .withColumns({"flaky": F.col("odd") > 0, "flake_rate": F.try_divide("odd", "repeated")})
        .withColumns({"flake_rate_low": low, "flake_rate_high": high})
        .select(*FLAKES.names)
    )


def _counted(planned: DataFrame, place: tuple[str, ...]) -> DataFrame:
    return planned.groupBy(*place).agg(
        F.count(F.lit(1)).alias("runs"),
        F.countDistinct("seed").alias("seeds"),
        *_of_each_validity(),
        F.count_if(~F.col("as_expected")).alias("unexpected"),
    )


def _with_their_schedule(replays: DataFrame, planned: DataFrame) -> DataFrame:
    """Replays with the options and the schedule of the runs that they replay."""
    origins = planned.select(F.col("run_id").alias("replay_of"), "options", "schedule")
    return replays.drop("options", "schedule").join(origins, "replay_of")


def _repeated(runs: DataFrame, place: tuple[str, ...]) -> DataFrame:
    """For each scenario, version and options, the runs of repeated schedules, and the odd ones of these."""
    most = F.greatest(*VALIDITIES)
    judged = F.col("valid") + F.col("invalid") + F.col("unknown")
    again = judged >= TWICE
    none = F.lit(0).cast(LONG)
    return (
        runs.groupBy(*place, "content", "schedule")
        .agg(*_of_each_validity())
        .groupBy(*place)
        .agg(
            F.sum(F.when(again, judged).otherwise(none)).alias("repeated"),
            F.sum(F.when(again, judged - most).otherwise(none)).alias("odd"),
        )
    )


def _of_each_validity() -> list[Column]:
    return [F.count_if(F.col("validity") == name).alias(name) for name in VALIDITIES]


def wilson(successes: Column, trials: Column) -> tuple[Column, Column]:
    """The interval of `results.repeats.wilson` as columns; null where there were no trials."""
    # Dividing by 0 is an error in ANSI mode, and both branches are computed.
    of = F.nullif(trials, F.lit(0))
    rate, z2 = successes / of, Z * Z
    middle = rate + z2 / (2 * of)
    half = Z * F.sqrt(rate * (1 - rate) / of + z2 / (4 * of * of))
    whole = 1 + z2 / of
    # Rounding must not put the ends outside of what a rate can be.
    low, high = F.greatest(F.lit(0.0), (middle - half) / whole), F.least(F.lit(1.0), (middle + half) / whole)
    return F.when(trials > 0, low), F.when(trials > 0, high)
