"""Who led partitions and the quorum, and how often that changed; when replicas were missing from ISRs.

All of it as nodes told it: what happened and was over between two answers, which are a second apart at most,
is not seen, and an epoch in which nobody was asked has no leader here.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from results.pipeline.schemas import INT, LONG, TEXT, column, table

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
    column("start_ns", LONG, "first answer in which a replica was missing from the ISR"),
    column("end_ns", LONG, "next answer in which none was; null if there was no such answer"),
)
_PARTITION = ("run_id", "topic", "partition")
_SUBJECT = ("run_id", "subject", "topic", "partition")


def leadership(cluster_state: DataFrame, runs: DataFrame) -> DataFrame:
    """Epochs, elections, changes of leaders and shrinks of ISRs, for each partition and the quorum."""
    dated = runs.select("run_id", "date", "kafka_version")
    churn = cluster_state.transform(_reigns).transform(_churn)
    shrinks = cluster_state.transform(_shrinks)
    of_shrinks = F.when(F.col("subject") == "partition", F.coalesce("isr_shrinks", F.lit(0).cast(LONG)))
    return (
        churn.join(shrinks.withColumn("subject", F.lit("partition")), list(_SUBJECT), "left")
        .withColumn("isr_shrinks", of_shrinks)
        .join(dated, "run_id")
        .select(*LEADERSHIP.names)
    )


def under_replicated(cluster_state: DataFrame) -> DataFrame:
    """Stretches in which a replica was missing from a partition's ISR, all views taken together."""
    by_time = Window.partitionBy(*_PARTITION).orderBy("time_ns", "view")
    before, after = by_time.rowsBetween(-1, -1), by_time.rowsBetween(1, 1)
    return (
        cluster_state.where(F.col("subject") == "partition")
        .withColumn("full", F.size("isr") >= F.size("replicas"))
        .withColumn("before", F.first("full").over(before))
        .where(~F.col("full").eqNullSafe(F.col("before")))
        .withColumn("start_ns", F.col("time_ns"))
        .withColumn("end_ns", F.first("time_ns").over(after))
        .where(~F.col("full"))
        .select(*UNDER_REPLICATED.names)
    )


def _reigns(cluster_state: DataFrame) -> DataFrame:
    """One row for each leader of each epoch, with when it was first told."""
    return cluster_state.groupBy(*_SUBJECT, "leader_epoch", "leader").agg(F.min("time_ns").alias("time_ns"))


def _churn(reigns: DataFrame) -> DataFrame:
    by_epoch = Window.partitionBy(*_SUBJECT).orderBy("leader_epoch", "time_ns", "leader")
    earlier = by_epoch.rowsBetween(Window.unboundedPreceding, -1)
    led = F.when(F.col("leader").isNotNull(), F.col("leader_epoch"))
    return (
        reigns.withColumn("last_leader", F.last("leader", ignorenulls=True).over(earlier))
        .withColumn("last_led", F.max(led).over(earlier))
        .groupBy(*_SUBJECT)
        .agg(
            (F.max("leader_epoch") - F.min("leader_epoch")).cast(LONG).alias("epochs"),
            F.count_if(led > F.col("last_led")).alias("elections"),
            F.count_if(F.col("leader") != F.col("last_leader")).alias("leader_changes"),
        )
    )


def _shrinks(cluster_state: DataFrame) -> DataFrame:
    """How often a view told an ISR that lacks somebody who was in the one before; the most of all views."""
    view = Window.partitionBy(*_PARTITION, "view").orderBy("time_ns").rowsBetween(-1, -1)
    return (
        cluster_state.where(F.col("subject") == "partition")
        .withColumn("before", F.first("isr").over(view))
        .groupBy(*_PARTITION, "view")
        .agg(F.count_if(_left(F.col("before"), F.col("isr"))).alias("isr_shrinks"))
        .groupBy(*_PARTITION)
        .agg(F.max("isr_shrinks").alias("isr_shrinks"))
    )


def _left(before: Column, isr: Column) -> Column:
    """Whether somebody of one ISR is missing from the next; compared in full only where they differ."""
    return before.isNotNull() & (before != isr) & (F.size(F.array_except(before, isr)) > 0)
