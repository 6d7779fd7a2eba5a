"""Counts records by tenths of a second, in the only pass over `records`; other analytics use the result.

A gap of a tenth of a second or more in a partition's acknowledgements is between the last one of a tenth and
the first one of a later tenth.  So the first and the last time of each tenth determine all such gaps exactly.
Records are counted where they are read, before a shuffle, so a partition with half of all records has ten
rows per second like any other partition.
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
        column("outcome", TEXT, "outcome of sends: `ok`, `fail`, `info`, or `open` if never answered"),
        column(
            "tenth", LONG, "tenth of a second since the start of the run; for reads, the first of the second"
        ),
        column("records", LONG, "how many"),
        column("invoked_ns", LONG, "when the first was invoked"),
        column("first_ns", LONG, "when the first completed; if none did, when it was invoked"),
        column("last_ns", LONG, "when the last completed"),
    ]
)


_SENDS = ("run_id", "topic", "partition", "outcome", "tenth")
_READS = ("run_id", "kind", "tenth")
_RETURNING = ("poll", "final-read", "txn")


def pulses(records: DataFrame, operations: DataFrame) -> DataFrame:
    """Count sends by tenths of a second and partition, and reads by seconds only.

    Most rows of `records` are reads.  They are counted from `operations` instead, which has one row per call,
    so that only the sends of `records` have to be read.
    """
    return _sends(records).unionByName(_reads(operations), allowMissingColumns=True).select(*PULSES.names)


def _sends(records: DataFrame) -> DataFrame:
    outcome = F.when(F.col("completed_ns").isNull(), F.lit("open")).otherwise(F.col("outcome"))
    sends = records.where(F.col("kind") == "send").withColumn("outcome", outcome)
    counted = _counted(sends, PULSE_NS, _SENDS, F.count(F.lit(1)))
    return counted.withColumn("kind", F.lit("send"))


def _reads(operations: DataFrame) -> DataFrame:
    """Calls that returned records; the times of the records are those of the call."""
    kind = F.when(F.col("f") == "final-read", F.lit("final-read")).otherwise(F.lit("read"))
    # Older rows do not have the column: only calls that return records have more records than sends.
    returned = F.coalesce("returned", F.when(F.col("f").isin(*_RETURNING), F.col("records") - F.col("sends")))
    completed = operations.withColumn("returned", returned)
    calls = completed.where(F.col("returned") > 0).withColumn("kind", kind)
    counted = _counted(calls, PULSE_NS * PULSES_A_SECOND, _READS, F.sum("returned"))
    return counted.withColumn("tenth", F.col("tenth") * PULSES_A_SECOND)


def _counted(calls: DataFrame, width_ns: int, keys: tuple[str, ...], records: Column) -> DataFrame:
    """One row for each value of `keys`; `tenth` is the number of the interval of this width."""
    at_ns = F.coalesce("completed_ns", "invoked_ns")
    return (
        calls.withColumn("tenth", F.floor(at_ns / width_ns))
        .groupBy(*keys)
        .agg(
            records.alias("records"),
            F.min("invoked_ns").alias("invoked_ns"),
            F.min(at_ns).alias("first_ns"),
            F.max(at_ns).alias("last_ns"),
        )
    )
