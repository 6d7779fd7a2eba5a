"""Records counted by tenths of a second: the one pass over `records` that the other analytics begin with.

A gap of a tenth of a second or more in a partition's acknowledgements lies between the last one of one tenth
and the first one of a later tenth.  So the first and the last time of each tenth tell all such gaps exactly,
and a partition that takes half of all records is ten rows a second like any other: they are counted where
they are read, before anything is sent to another task.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from results.pipeline.schemas import INT, LONG, TEXT, column

PULSE_NS = 100_000_000
"""Width of a tenth of a second."""
PULSES_A_SECOND = 10

PULSES = StructType(
    [
        column("run_id", TEXT, "the run's id"),
        column("kind", TEXT, "`send`, `read` or `final-read`"),
        column("topic", TEXT, "of sends"),
        column("partition", INT, "of sends"),
        column("outcome", TEXT, "of sends `ok`, `fail`, `info`, or `open` if never answered"),
        column("tenth", LONG, "tenth of a second since the run's beginning; of reads, that of the second"),
        column("records", LONG, "how many"),
        column("invoked_ns", LONG, "when the first of them was invoked"),
        column("first_ns", LONG, "when the first of them completed; invoked, if none ever did"),
        column("last_ns", LONG, "when the last of them completed"),
    ]
)


def pulses(records: DataFrame) -> DataFrame:
    """Count `records` by tenths of a second; reads by seconds, and not by partitions."""
    sent = F.col("kind") == "send"
    at_ns = F.coalesce("completed_ns", "invoked_ns")
    tenth = _floored(at_ns, PULSE_NS)
    second = _floored(at_ns, PULSE_NS * PULSES_A_SECOND) * PULSES_A_SECOND
    outcome = F.when(F.col("completed_ns").isNull(), F.lit("open")).otherwise(F.col("outcome"))
    return (
        records.groupBy(
            "run_id",
            "kind",
            F.when(sent, F.col("topic")).alias("topic"),
            F.when(sent, F.col("partition")).alias("partition"),
            F.when(sent, outcome).alias("outcome"),
            F.when(sent, tenth).otherwise(second).alias("tenth"),
        )
        .agg(
            F.count(F.lit(1)).alias("records"),
            F.min("invoked_ns").alias("invoked_ns"),
            F.min(at_ns).alias("first_ns"),
            F.max(at_ns).alias("last_ns"),
        )
        .select(*PULSES.names)
    )


def _floored(time_ns: Column, width_ns: int) -> Column:
    return F.floor(time_ns / width_ns)
