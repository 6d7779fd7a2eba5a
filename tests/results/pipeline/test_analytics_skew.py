"""A partition that takes nearly all records is, before anything is exchanged, no larger than any other."""

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from results.pipeline.analytics.pulses import pulses
from results.pipeline.schemas import RECORDS
from tests.results.pipeline.small_tables import MS, table_of

TASKS, RECORDS_COUNT, TENTHS = 4, 40_000, 5


def test_what_is_exchanged_of_a_hot_partition_is_as_much_as_of_a_cold_one(spark: SparkSession) -> None:
    """Of every hundred records 99 are those of partition 0, and one is that of partition 1."""
    counted = pulses(hot(spark), table_of(spark, "operations"))
    found = {(row.partition, row.tenth): row.records for row in counted.collect()}
    assert found == {(0, n): 7_920 for n in range(TENTHS)} | {(1, n): 80 for n in range(TENTHS)}
    (exchanged,) = records_exchanged(counted)
    assert exchanged == TASKS * len(found)


def hot(spark: SparkSession) -> DataFrame:
    """Sends of a run, of which every task reads as many, all over its half second."""
    number = F.col("id")
    given = {
        "run_id": F.lit("r1"),
        "kind": F.lit("send"),
        "topic": F.lit("t"),
        "outcome": F.lit("ok"),
        "partition": (number % 100 == 0).cast("int"),
        "completed_ns": F.floor(number / 100) % TENTHS * 100 * MS,
    }
    others = {field.name: F.lit(None).cast(field.dataType) for field in RECORDS if field.name not in given}
    return spark.range(0, RECORDS_COUNT, 1, TASKS).select(
        *(column.alias(name) for name, column in (given | others).items())
    )


def records_exchanged(frame: DataFrame) -> list[int]:
    """How many rows each exchange of a frame's plan, as it was carried out, wrote."""
    return _written(frame._jdf.queryExecution().executedPlan().executedPlan())


def _written(node: Any) -> list[int]:
    kind = node.getClass().getSimpleName()
    if kind.endswith("QueryStageExec"):
        return _written(node.plan())
    own = [node.metrics().apply("shuffleRecordsWritten").value()] if kind == "ShuffleExchangeExec" else []
    children = node.children()
    return own + [count for at in range(children.size()) for count in _written(children.apply(at))]
