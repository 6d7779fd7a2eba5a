"""Schedules with different outcomes on the same Kafka, as defined in `results.repeats.flakes`."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from results.pipeline.schemas import BOOLEAN, DOUBLE, LONG, TEXT, column
from results.repeats.flakes import CHOICE_OF_KAFKA, REPLAYS, TWICE
from results.repeats.wilson import Z

VALIDITIES = ("valid", "invalid", "unknown")
_DOUBLINGS = 3
"""How often chains of replays are joined with themselves; longer chains are rare."""

FLAKES = StructType(
    [
        column("scenario", TEXT, "name of the scenario"),
        column("kafka_version", TEXT, "Kafka's version that ran"),
        column(
            "options",
            TEXT,
            "the command that repeats the run, without seed and choice of Kafka; of replays alone, their run",
        ),
        column("runs", LONG, "runs, without replays; the same for the columns up to `unexpected`"),
        column("seeds", LONG, "different seeds of these runs"),
        column("valid", LONG, "runs that ended valid"),
        column("invalid", LONG, "runs that ended invalid"),
        column("unknown", LONG, "runs that ended unknown"),
        column("unexpected", LONG, "runs whose verdict was not the expected one"),
        column("repeated", LONG, "runs, with replays, whose schedule ran more than once on the same Kafka"),
        column("flaky", BOOLEAN, "whether any of these had another outcome than most runs of its schedule"),
        column(
            "flake_rate", DOUBLE, "share of the repeated runs with another outcome; null if none was repeated"
        ),
        column("flake_rate_low", DOUBLE, "lower end of its Wilson interval, 95 %"),
        column("flake_rate_high", DOUBLE, "upper end of its Wilson interval, 95 %"),
    ]
)


def flakes(runs: DataFrame) -> DataFrame:
    """Runs by scenario, version and options, and how many had another outcome than most of their schedule.

    Replays (and replays of replays, up to eight) count only for the schedule of the original run.  If that
    run is not in the tables, its replays have one schedule, and their `options` name the run.
    A candidate of ``krucible minimise`` also names a run, but has its own schedule.
    """
    place = ("scenario", "kafka_version", "options")
    content = F.coalesce("kafka_content", "image_digest", "image_reference", F.lit(""))
    schedule = F.regexp_replace("options", CHOICE_OF_KAFKA, "")
    # Without the choice of Kafka: the path of a tarball depends on the machine.
    asked = F.regexp_replace(schedule, r"\s+--seeds?[ =]\S+", "")
    identified = runs.withColumns({"content": content, "schedule": schedule, "options": asked})
    replayed = F.col("replay_of").isNotNull() & F.col("options").rlike(f"^{REPLAYS}")
    planned = identified.where(~replayed)
    every = planned.unionByName(_with_their_schedule(identified.where(replayed), planned))
    parts = (_counted(planned, place), _repeated(every, place))
    low, high = wilson(F.col("odd"), F.col("repeated"))
    none = F.lit(0).cast(LONG)
    measured = [*(f.name for f in FLAKES if f.name not in place and f.dataType == LONG), "odd"]
    # A union with an aggregation, because a join would drop rows whose version is null.
    return (
        parts[0]
        .unionByName(parts[1], allowMissingColumns=True)
        .groupBy(*place)
        .agg(*(F.coalesce(F.max(name), none).alias(name) for name in measured))
        .where((F.col("runs") > 0) | (F.col("repeated") > 0))
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
    """Replays with the options and the schedule of their original runs."""
    way = replays.select("run_id", F.col("replay_of").alias("origin"))
    for _ in range(_DOUBLINGS):
        further = way.select(F.col("run_id").alias("origin"), F.col("origin").alias("further"))
        way = way.join(further, "origin", "left").select(
            "run_id", F.coalesce("further", "origin").alias("origin")
        )
    known = planned.select(F.col("run_id").alias("origin"), "options", "schedule")
    return (
        replays.drop("options", "schedule")
        .join(way, "run_id")
        .join(known, "origin", "left")
        .withColumns(
            {
                "options": F.coalesce("options", F.concat(F.lit("krucible replay "), "origin")),
                "schedule": F.coalesce("schedule", "origin"),
            }
        )
        .drop("origin")
    )


def _repeated(runs: DataFrame, place: tuple[str, ...]) -> DataFrame:
    """By scenario, version and options: runs of repeated schedules, and runs with an unusual outcome."""
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
    """The interval of `results.repeats.wilson` as columns; null without trials."""
    # Dividing by 0 is an error in ANSI mode, and both branches are computed.
    of = F.nullif(trials, F.lit(0))
    rate, z2 = successes / of, Z * Z
    middle = rate + z2 / (2 * of)
    half = Z * F.sqrt(rate * (1 - rate) / of + z2 / (4 * of * of))
    whole = 1 + z2 / of
    # Rounding must not move the ends outside of [0, 1].
    low, high = F.greatest(F.lit(0.0), (middle - half) / whole), F.least(F.lit(1.0), (middle + half) / whole)
    return F.when(trials > 0, low), F.when(trials > 0, high)
