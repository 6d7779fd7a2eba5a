"""Leaders of partitions and of the quorum, how often they changed, and when ISRs were not full.

The source is the answers of nodes, at most a second apart.  A change that was undone between two answers is
not seen, and an epoch without an answer has no leader here.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from results.pipeline.schemas import INT, LONG, PARTITIONED_BY, SILENCE_NS, TEXT, column, table

LEADERSHIP = table(
    column("subject", TEXT, "`partition` or `quorum`"),
    column("topic", TEXT, "topic; null for the quorum"),
    column("partition", INT, "number of the partition; null for the quorum"),
    column("epochs", LONG, "increase of the leader epoch"),
    column("elections", LONG, "epochs after the first in which a leader was seen"),
    column("leader_changes", LONG, "elections of another node than the previous leader"),
    column(
        "isr_shrinks",
        LONG,
        "how often a replica left the ISR, in the view with the most such changes; null for the quorum",
    ),
)
UNDER_REPLICATED = table(
    column("topic", TEXT, "name of the topic"),
    column("partition", INT, "number of the partition"),
    column(
        "start_ns",
        LONG,
        "first answer with a replica missing from the ISR; views of the same period count once",
    ),
    column(
        "end_ns",
        LONG,
        "when any view reported a full ISR after the last such answer, or that answer itself, if a view that "
        "had reported a full one before did so afterwards, too; null if no view did",
    ),
)
_PARTITION = ("run_id", "topic", "partition")
_SUBJECT = ("run_id", "subject", "topic", "partition")
_NEVER_NS = 2**63 - 1


def leadership(cluster_state: DataFrame) -> DataFrame:
    """Epochs, elections, leader changes and ISR shrinks of each partition and of the quorum.

    Args:
        cluster_state: the table of that name: states that nodes reported, with their periods.

    Returns:
        `LEADERSHIP`, one row for each run and partition, and one for each run's quorum.
    """
    # All windows and groups are within a subject, so partitioning by subject needs only one exchange.
    churn = cluster_state.repartition(*_SUBJECT).transform(_shrunk).transform(_reigns).transform(_churn)
    return churn.select(*LEADERSHIP.names)


def under_replicated(cluster_state: DataFrame) -> DataFrame:
    """Spans in which some view reported that a replica was missing from a partition's ISR.

    The span of a view ends when that view reports a full ISR, or when another one does after the last answer
    of that view, since its node may have been killed.  So a view that lags ends no span that another view
    still reports.  Spans of several views that overlap or touch are one span.
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
    """Spans without a full ISR, `start_ns` to `end_ns`; `_NEVER_NS` if it was never full again."""
    view = Window.partitionBy(*_PARTITION, "view").orderBy("time_ns")
    later = Window.partitionBy(*_PARTITION).orderBy(F.desc("until_ns"))
    full_from = F.min(F.when(F.col("full"), F.col("time_ns")))
    full = F.greatest("until_ns", "full_ns")
    still_short = ~F.col("next_full") & (F.col("next_ns") - F.col("until_ns") <= SILENCE_NS)
    return (
        cluster_state.withColumn("full", F.size("isr") >= F.size("replicas"))
        # Older tables have a row for each answer.
        .withColumn("until_ns", F.coalesce("until_ns", "time_ns"))
        # The earliest of the spans that ended later; in descending order, so that the frame only grows.
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
    """Add `isr_shrinks`: how often, so far, the view reported an ISR without a member of the previous one."""
    view = Window.partitionBy(*_SUBJECT, "view").orderBy("time_ns")
    shrinks = F.count_if(_left(F.col("before"), F.col("isr")))
    return cluster_state.withColumn("before", F.lag("isr").over(view)).withColumn(
        "isr_shrinks", shrinks.over(view.rowsBetween(Window.unboundedPreceding, 0))
    )


def _reigns(shrunk: DataFrame) -> DataFrame:
    """One row for each leader of each epoch: when it was first reported, and the most shrinks of any view."""
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
    """Columns that are equal in all rows of a run."""
    return tuple(F.first(name).alias(name) for name in PARTITIONED_BY)


def _left(before: Column, isr: Column) -> Column:
    """Whether a member of one ISR is missing from the next; equal ISRs are not compared in full."""
    return before.isNotNull() & (before != isr) & (F.size(F.array_except(before, isr)) > 0)
