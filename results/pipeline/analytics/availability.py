"""How long partitions accepted no writes: gaps between acknowledgements, and the faults that they overlap.

Gaps are defined as in `checkers.runs.availability`: the time from an acknowledgement of a partition to the
next one, or to the end of the load.  Gaps shorter than a tenth of a second are left out.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from checkers.history.units import NS_PER_MS
from results.pipeline.analytics.overlaps import SpanColumns, overlapping
from results.pipeline.analytics.pulses import PULSE_NS
from results.pipeline.schemas import BOOLEAN, DOUBLE, INT, LONG, TEXT, column, table

_PARTITION = ("run_id", "topic", "partition")

AVAILABILITY = table(
    column("topic", TEXT, "name of the topic"),
    column("partition", INT, "number of the partition"),
    column("start_ns", LONG, "the earlier acknowledgement"),
    column("end_ns", LONG, "the next acknowledgement, or the end of the load"),
    column("unavailable_ms", DOUBLE, "length of the gap"),
    column("waited_ms", DOUBLE, "time at the end of the gap during which a send was waiting; 0 if none was"),
    column("acknowledged", BOOLEAN, "whether an acknowledgement ended the gap; else the end of the load"),
)
AVAILABILITY_IN_FAULTS = table(
    column("fault", LONG, "number of the fault within the run"),
    column("fault_kind", TEXT, "its kind"),
    column("topic", TEXT, "name of the topic"),
    column("partition", INT, "number of the partition"),
    column("start_ns", LONG, "start of the gap, as in `availability`"),
    column("end_ns", LONG, "its end"),
    column("unavailable_ms", DOUBLE, "length of the whole gap"),
    column("overlap_ms", DOUBLE, "how much of the gap overlaps the fault"),
)
AVAILABILITY_BY_FAULT = table(
    column("fault", LONG, "number of the fault within the run"),
    column("fault_kind", TEXT, "its kind"),
    column("gaps", LONG, "number of gaps of all partitions that overlap the fault"),
    column("unavailable_ms", DOUBLE, "length of the longest of these gaps; null without gaps"),
    column("topic", TEXT, "topic of the longest gap"),
    column("partition", INT, "partition of the longest gap"),
)


def availability(pulses: DataFrame, runs: DataFrame) -> DataFrame:
    """Gaps of a tenth of a second or more in the acknowledgements of each partition.

    Args:
        pulses: as from `pulses`; only sends count.
        runs: the table `runs`; it gives the end of the load, at which the last gap of a partition ends.

    Returns:
        `AVAILABILITY`, one row for each gap; times in ns since the start of the run.
    """
    length_ns = F.col("end_ns") - F.col("start_ns")
    loads = runs.select("run_id", "load_ended_ns", "unloaded", "date", "kafka_version")
    return (
        pulses.where(F.col("kind") == "send")
        .transform(_between_acknowledgements)
        .join(loads, "run_id")
        .withColumn("end_ns", F.coalesce("next_ns", _load_end_ns()))
        .where(length_ns >= PULSE_NS)
        .withColumn("unavailable_ms", length_ns / NS_PER_MS)
        .withColumn("waited_ms", _waited_ns() / NS_PER_MS)
        .withColumn("acknowledged", F.col("next_ns").isNotNull())
        .select(*AVAILABILITY.names)
    )


def availability_in_faults(availability: DataFrame, faults: DataFrame, runs: DataFrame) -> DataFrame:
    """Pairs of a gap and a fault that overlap for more than an instant.

    A fault counts from its request until it was seen to be healed (`lasting`), so a gap may be in several
    pairs.

    Returns:
        `AVAILABILITY_IN_FAULTS`, one row for each pair.
    """
    windows = lasting(faults, runs).select(
        "run_id", "fault", F.col("kind").alias("fault_kind"), "asked_ns", "over_ns"
    )
    start_ns, end_ns = F.greatest("start_ns", "asked_ns"), F.least("end_ns", "over_ns")
    return (
        overlapping(
            availability, SpanColumns("start_ns", "end_ns"), windows, SpanColumns("asked_ns", "over_ns")
        )
        .where(end_ns > start_ns)
        .withColumn("overlap_ms", (end_ns - start_ns) / NS_PER_MS)
        .select(*AVAILABILITY_IN_FAULTS.names)
    )


def availability_by_fault(availability_in_faults: DataFrame, faults: DataFrame) -> DataFrame:
    """For each fault, the longest gap of any partition that overlaps it.

    Returns:
        `AVAILABILITY_BY_FAULT`, one row for each fault, also for faults without gaps.
    """
    # Among equally long gaps the earliest counts, then the one of the first partition.
    rank = F.struct("unavailable_ms", -F.col("start_ns"), -F.col("partition"), F.col("topic"))
    worst = F.max_by(F.struct("topic", "partition"), rank)
    longest = availability_in_faults.groupBy("run_id", "fault").agg(
        F.count(F.lit(1)).alias("found"),
        F.max("unavailable_ms").alias("unavailable_ms"),
        worst.alias("worst"),
    )
    return (
        faults.withColumn("fault_kind", F.col("kind"))
        .join(longest, ["run_id", "fault"], "left")
        .withColumn("gaps", F.coalesce("found", F.lit(0).cast(LONG)))
        .withColumns({name: F.col(f"worst.{name}") for name in ("topic", "partition")})
        .select(*AVAILABILITY_BY_FAULT.names)
    )


def lasting(faults: DataFrame, runs: DataFrame) -> DataFrame:
    """Faults with `over_ns`, the time at which they had certainly ended; the end of the run if not seen."""
    ends = runs.select("run_id", F.col("ended_ns").alias("run_over_ns"))
    over_ns = F.coalesce("healed_ns", F.greatest("run_over_ns", "asked_ns"))
    return faults.join(ends, "run_id").withColumn("over_ns", over_ns).drop("run_over_ns")


def _between_acknowledgements(sends: DataFrame) -> DataFrame:
    """For each tenth of a second with acknowledgements, the last one and what followed.

    Returns:
        `start_ns`, `next_ns` (the next acknowledgement or null), `tried_ns` (the first invocation among sends
        that were refused or lost since then, and the send that was acknowledged next).
    """
    ok = F.col("outcome") == "ok"
    # In each tenth acknowledgements come first, so that other sends count for the gap after them.
    running = (
        Window.partitionBy(*_PARTITION)
        .orderBy("tenth", F.when(ok, 0).otherwise(1), "outcome")
        .rowsBetween(Window.unboundedPreceding, Window.currentRow)
    )
    following = Window.partitionBy(*_PARTITION).orderBy("pulse").rowsBetween(1, 1)
    return (
        sends.withColumn("pulse", F.sum(F.when(ok, 1).otherwise(0)).over(running))
        .groupBy(*_PARTITION, "pulse")
        .agg(
            F.max(F.when(ok, F.col("last_ns"))).alias("start_ns"),
            F.min(F.when(ok, F.col("first_ns"))).alias("first_ns"),
            F.min(F.when(ok, F.col("invoked_ns"))).alias("acked_from_ns"),
            F.min(F.when(~ok, F.col("invoked_ns"))).alias("lost_from_ns"),
        )
        .withColumn("next_ns", F.first("first_ns").over(following))
        .withColumn("tried_ns", F.least("lost_from_ns", F.first("acked_from_ns").over(following)))
        .where(F.col("start_ns").isNotNull())
    )


def _load_end_ns() -> Column:
    """End of a partition's last gap; null if the load did not write to the partition."""
    loaded = ~F.array_contains(F.coalesce("unloaded", F.array()), F.col("topic"))
    return F.when(loaded & (F.col("load_ended_ns") > F.col("start_ns")), F.col("load_ended_ns"))


def _waited_ns() -> Column:
    since_ns = F.greatest("tried_ns", "start_ns")
    return F.when(F.col("tried_ns") < F.col("end_ns"), F.col("end_ns") - since_ns).otherwise(0)
