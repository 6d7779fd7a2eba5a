"""Time from the last heal of each kind of fault until partitions accepted writes and had full ISRs.

The checker `recovery` judges what the harness saw while it waited.  This module measures from the histories,
by kind of fault, so that versions can be compared.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from checkers.history.units import NS_PER_MS
from results.pipeline.analytics.availability import lasting
from results.pipeline.analytics.overlaps import SpanColumns, overlapping
from results.pipeline.schemas import BOOLEAN, DOUBLE, LONG, TEXT, column, table

HEALS = table(
    column("fault_kind", TEXT, "the kind of fault"),
    column("healed_ns", LONG, "the last heal of this kind"),
    column("undisturbed", BOOLEAN, "whether no other fault was in force then"),
    column("next_ns", LONG, "when the next fault began; null if none did"),
    column("until_ns", LONG, "`next_ns`, or the end of the run"),
    column("ended_ns", LONG, "end of the run"),
)
RECOVERY = table(
    column("fault_kind", TEXT, "the kind of fault"),
    column("healed_ns", LONG, "when the last fault of this kind was seen to be healed"),
    column("undisturbed", BOOLEAN, "whether no other fault was in force then or began before the recovery"),
    column("partitions", LONG, "partitions that the load writes to and that acknowledged a write in the run"),
    column("unwritten", LONG, "number of these that acknowledged no write after the heal"),
    column("writes_ms", DOUBLE, "until the last of these acknowledged a write; null if one did not"),
    column("observed", LONG, "partitions whose ISR was reported"),
    column("incomplete", LONG, "number of these that were not seen with a full ISR again"),
    column("isr_ms", DOUBLE, "until the last of these had a full ISR; null if one had not"),
)
_KIND = ("run_id", "fault_kind")


def recovery(
    *,
    pulses: DataFrame,
    availability: DataFrame,
    under_replicated: DataFrame,
    leadership: DataFrame,
    heals: DataFrame,
    runs: DataFrame,
) -> DataFrame:
    """Recovery of each run after the last heal of each kind of fault.

    Args:
        pulses: as from `pulses`.
        availability: `AVAILABILITY`.
        under_replicated: `UNDER_REPLICATED`.
        leadership: `LEADERSHIP`; it gives the number of observed partitions.
        heals: `HEALS`, as from `heals`.
        runs: the table `runs`.

    Returns:
        `RECOVERY`, one row for each row of `heals`; durations in ms since the heal.
    """
    observed = (
        leadership.where(F.col("subject") == "partition")
        .groupBy("run_id")
        .agg(F.count(F.lit(1)).alias("observed"))
    )
    on = list(_KIND)
    return (
        heals.join(_writes(heals, pulses, runs), on, "left")
        .join(_interrupted(heals, availability, runs), on, "left")
        .join(_incomplete(heals, under_replicated), on, "left")
        .join(observed, "run_id", "left")
        .withColumns({name: _count(name) for name in ("partitions", "unwritten", "observed", "incomplete")})
        .withColumn("writes_ms", _took_ms("partitions", "unwritten", "begun_after_ns", "interrupted_ns"))
        .withColumn("isr_ms", _took_ms("observed", "incomplete", "incomplete_ns"))
        .withColumn("undisturbed", F.col("undisturbed") & _over_before_the_next())
        .select(*RECOVERY.names)
    )


def heals(faults: DataFrame, runs: DataFrame) -> DataFrame:
    """The last heal of each kind of fault in each run.

    Returns:
        `HEALS`, one row for each run and kind; kinds that were never seen to be healed are left out.
    """
    every = lasting(faults, runs)
    last = (
        every.where(F.col("healed_ns").isNotNull())
        .groupBy("run_id", F.col("kind").alias("fault_kind"))
        .agg(F.max("healed_ns").alias("healed_ns"))
    )
    in_force = (F.col("asked_ns") <= F.col("healed_ns")) & (F.col("over_ns") > F.col("healed_ns"))
    next_ns = F.when(F.col("asked_ns") > F.col("healed_ns"), F.col("asked_ns"))
    ends = runs.select("run_id", "ended_ns", "date", "kafka_version")
    return (
        last.join(every.select("run_id", "asked_ns", "over_ns"), "run_id")
        .groupBy(*_KIND, "healed_ns")
        .agg(F.min(next_ns).alias("next_ns"), (~F.bool_or(in_force)).alias("undisturbed"))
        .join(ends, "run_id")
        .withColumn("until_ns", F.coalesce("next_ns", "ended_ns"))
        .select(*HEALS.names)
    )


def _writes(heals: DataFrame, pulses: DataFrame, runs: DataFrame) -> DataFrame:
    """Number of partitions with writes, number without writes after the heal, and the latest first write."""
    written = (
        pulses.where((F.col("kind") == "send") & (F.col("outcome") == "ok"))
        .groupBy("run_id", "topic", "partition")
        .agg(F.min("first_ns").alias("first_ns"), F.max("last_ns").alias("last_ns"))
        .transform(lambda frame: _loaded(frame, runs))
    )
    return (
        heals.select(*_KIND, "healed_ns")
        .join(written, "run_id")
        .groupBy(*_KIND)
        .agg(
            F.count(F.lit(1)).alias("partitions"),
            F.count_if(F.col("last_ns") < F.col("healed_ns")).alias("unwritten"),
            F.max(F.col("first_ns") - F.col("healed_ns")).alias("begun_after_ns"),
        )
    )


def _interrupted(heals: DataFrame, availability: DataFrame, runs: DataFrame) -> DataFrame:
    """The longest time from a heal to the end of a gap that includes it."""
    gaps = availability.transform(lambda frame: _loaded(frame, runs)).select("run_id", "start_ns", "end_ns")
    points = heals.select(*_KIND, "healed_ns")
    # A gap that starts with an acknowledgement at the time of the heal does not count.
    return (
        overlapping(gaps, SpanColumns("start_ns", "end_ns"), points, SpanColumns("healed_ns", "healed_ns"))
        .where(F.col("start_ns") < F.col("healed_ns"))
        .groupBy(*_KIND)
        .agg(F.max(F.col("end_ns") - F.col("healed_ns")).alias("interrupted_ns"))
    )


def _incomplete(heals: DataFrame, under_replicated: DataFrame) -> DataFrame:
    """Number of ISRs that were not full at the heal or later again, and the longest time until a full one."""
    ends = heals.groupBy("run_id").agg(F.first("ended_ns").alias("ended_ns"))
    short = (
        under_replicated.select("run_id", "start_ns", "end_ns")
        .join(ends, "run_id")
        .withColumn("known_ns", F.coalesce("end_ns", F.greatest("ended_ns", "start_ns")))
        .drop("ended_ns")
    )
    windows = heals.select(*_KIND, "healed_ns", "until_ns")
    return (
        overlapping(short, SpanColumns("start_ns", "known_ns"), windows, SpanColumns("healed_ns", "until_ns"))
        .groupBy(*_KIND)
        .agg(
            F.count_if(F.col("end_ns").isNull()).alias("incomplete"),
            F.max(F.col("known_ns") - F.col("healed_ns")).alias("incomplete_ns"),
        )
    )


def _loaded(frame: DataFrame, runs: DataFrame) -> DataFrame:
    """Leave out topics to which the load does not write."""
    unloaded = F.array_contains(F.coalesce("unloaded", F.array().cast("array<string>")), F.col("topic"))
    return frame.join(runs.select("run_id", "unloaded"), "run_id").where(~unloaded).drop("unloaded")


def _count(name: str) -> Column:
    return F.coalesce(name, F.lit(0).cast(LONG))


def _took_ms(all_of: str, lacking: str, *latest_ns: str) -> Column:
    """The latest of several times; null if there is nothing to wait for, or something never came."""
    zero = F.lit(0).cast(LONG)
    took_ns = F.greatest(zero, *latest_ns, zero)
    return F.when((F.col(all_of) > 0) & (F.col(lacking) == 0), took_ns / NS_PER_MS)


def _over_before_the_next() -> Column:
    """Whether everything had recovered when the next fault began."""
    took_ns = F.greatest(F.lit(0.0), "writes_ms", "isr_ms") * NS_PER_MS
    return F.col("next_ns").isNull() | (F.col("next_ns") - F.col("healed_ns") >= took_ns)
