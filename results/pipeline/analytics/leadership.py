"""Who led partitions and the quorum, and how often that changed; when replicas were missing from ISRs.

All of it as nodes reported it: what happened and was over between two answers, which are a second apart at
most, is not seen, and an epoch in which nobody was asked has no leader here.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from results.pipeline.schemas import INT, LONG, PARTITIONED_BY, SILENCE_NS, TEXT, column, table

LEADERSHIP = table(
    column("subject", TEXT, "`partition` or `quorum`"),
    column("topic", TEXT, "of a partition"),
    column("partition", INT, "of a partition"),
    column("epochs", LONG, "by how much the leader's epoch grew"),
    column("elections", LONG, "epochs after the first in which a leader was seen"),
    column("leader_changes", LONG, "elections of another node than the one that had led"),
    column(
        "isr_shrinks",
        LONG,
        "times that a replica left the ISR, in the view that saw most; null for the quorum",
    ),
)
UNDER_REPLICATED = table(
    column("topic", TEXT, "name of the topic"),
    column("partition", INT, "number of the partition"),
    column(
        "start_ns",
        LONG,
        "first answer in which a replica was missing from the ISR; views of the same period count once",
    ),
    column(
        "end_ns",
        LONG,
        "when any view told a full ISR after the last such answer, or that answer itself, if a view that had "
        "told a full one before did so afterwards, too; null if nobody did",
    ),
)
_PARTITION = ("run_id", "topic", "partition")
_SUBJECT = ("run_id", "subject", "topic", "partition")
_NEVER_NS = 2**63 - 1


def leadership(cluster_state: DataFrame) -> DataFrame:
    """Epochs, elections, changes of leaders and shrinks of ISRs, for each partition and the quorum."""
    # All windows and groups are within a subject: laid out by subjects, rows are exchanged once.
    churn = cluster_state.repartition(*_SUBJECT).transform(_shrunk).transform(_reigns).transform(_churn)
    return churn.select(*LEADERSHIP.names)


def under_replicated(cluster_state: DataFrame) -> DataFrame:
    """Spans in which some view told that a replica was missing from a partition's ISR.

    What one view told is over as soon as the view itself or, since it may have been killed, any other reports
    a full ISR after its last answer without one; so a view that lags ends nothing that another continues
    telling. Spans of several views that overlap or touch are one.
    """
    by_start = Window.partitionBy(*_PARTITION).orderBy("start_ns", "end_ns")
    before = by_start.rowsBetween(Window.unboundedPreceding, -1)
    reached = F.max("end_ns").over(before)
    apart = (reached.isNull() | (F.col("start_ns") > reached)).cast(INT)
    return (
        cluster_state.where(F.col("subject") == "partition")
        .repartition(*_PARTITION)
        .transform(_short)
        .withColumn("apart", apart)
        .withColumn("span", F.sum("apart").over(by_start.rowsBetween(Window.unboundedPreceding, 0)))
        .groupBy(*_PARTITION, "span", "date", "kafka_version")
        .agg(F.min("start_ns").alias("start_ns"), F.max("end_ns").alias("end_ns"))
        .withColumn("end_ns", F.nullif("end_ns", F.lit(_NEVER_NS)))
        .select(*UNDER_REPLICATED.names)
    )


def _short(cluster_state: DataFrame) -> DataFrame:
    """Stretches without a full ISR, from `start_ns` to `end_ns`: `_NEVER_NS` if it was never full again."""
    view = Window.partitionBy(*_PARTITION, "view").orderBy("time_ns")
    later = Window.partitionBy(*_PARTITION).orderBy(F.desc("until_ns"))
    full_from = F.min(F.when(F.col("full"), F.col("time_ns")))
    full = F.greatest("until_ns", "full_ns")
    still_short = ~F.col("next_full") & (F.col("next_ns") - F.col("until_ns") <= SILENCE_NS)
    return (
        cluster_state.withColumn("full", F.size("isr") >= F.size("replicas"))
        # Tables of before stretches had a row for each answer.
        .withColumn("until_ns", F.coalesce("until_ns", "time_ns"))
        # Of stretches that ended later, the first that began: descending, so that the frame only grows.
        .withColumn("full_ns", full_from.over(later.rangeBetween(Window.unboundedPreceding, -1)))
        .withColumn("next_full", F.lead("full").over(view))
        .withColumn("next_ns", F.lead("time_ns").over(view))
        .where(~F.col("full"))
        .withColumn("start_ns", F.col("time_ns"))
        .withColumn(
            "end_ns",
            F.when(still_short, F.col("next_ns"))
            .when(F.col("full_ns").isNotNull(), full)
            .otherwise(F.lit(_NEVER_NS)),
        )
    )


def _shrunk(cluster_state: DataFrame) -> DataFrame:
    """With `isr_shrinks`: how often a view has told, so far, an ISR that lacks somebody of the one before."""
    view = Window.partitionBy(*_SUBJECT, "view").orderBy("time_ns")
    shrinks = F.count_if(_left(F.col("before"), F.col("isr")))
    return cluster_state.withColumn("before", F.lag("isr").over(view)).withColumn(
        "isr_shrinks", shrinks.over(view.rowsBetween(Window.unboundedPreceding, 0))
    )


def _reigns(shrunk: DataFrame) -> DataFrame:
    """One row for each leader of each epoch, with when it was first told; the most shrinks of all views."""
    return shrunk.groupBy(*_SUBJECT, "leader_epoch", "leader").agg(
        F.min("time_ns").alias("time_ns"), F.max("isr_shrinks").alias("isr_shrinks"), *_of_the_run()
    )


def _churn(reigns: DataFrame) -> DataFrame:
    by_epoch = Window.partitionBy(*_SUBJECT).orderBy("leader_epoch", "time_ns", "leader")
    earlier = by_epoch.rowsBetween(Window.unboundedPreceding, -1)
    led = F.when(F.col("leader").isNotNull(), F.col("leader_epoch"))
    of_partition = F.when(F.col("subject") == "partition", F.col("isr_shrinks"))
    return (
        reigns.withColumn("last_leader", F.last("leader", ignorenulls=True).over(earlier))
        .withColumn("last_led", F.max(led).over(earlier))
        .groupBy(*_SUBJECT)
        .agg(
            (F.max("leader_epoch") - F.min("leader_epoch")).cast(LONG).alias("epochs"),
            F.count_if(led > F.col("last_led")).alias("elections"),
            F.count_if(F.col("leader") != F.col("last_leader")).alias("leader_changes"),
            F.max(of_partition).alias("isr_shrinks"),
            *_of_the_run(),
        )
    )


def _of_the_run() -> tuple[Column, ...]:
    """What all rows of a run share."""
    return tuple(F.first(name).alias(name) for name in PARTITIONED_BY)


def _left(before: Column, isr: Column) -> Column:
    """Whether somebody of one ISR is missing from the next; compared in full only where they differ."""
    return before.isNotNull() & (before != isr) & (F.size(F.array_except(before, isr)) > 0)
