"""Reads counted by their calls are those that counting every record that was returned finds."""

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from checkers.history.operations import History, Operation, OperationType
from results.pipeline.analytics.pulses import PULSE_NS, PULSES, PULSES_A_SECOND, pulses
from tests.checkers.logs.log.log_transactions import TransactionalSimulation
from tests.results.pipeline.small_tables import MS, tables_of

WHO = {"client": "kafka-python", "isolation": "read_committed"}
SEND, NOTHING, ONE = ["send", "log-0", 1, 7], ["poll", "log-0", []], [[0, [0], [1]]]
FINAL = WHO | {"partition": 1, "start": 0, "end": 3, "position": 2}


def history_of(*lines: tuple[int, int | str, str, str, Any]) -> History:
    """A history of (time in ms, process, type, f, value)."""
    operations = tuple(
        Operation(index, time_ms * MS, process, OperationType(kind), f, "log-0", value)
        for index, (time_ms, process, kind, f, value) in enumerate(lines)
    )
    return History("a1", "2026-11-20T21:56:57Z", operations)


def txn(*mops: object) -> dict[str, object]:
    return WHO | {"mops": list(mops), "end": "commit", "ended": "commit"}


CALLS = history_of(
    # A poll over the end of a second; one that returned nothing; one of two chunks, in another second.
    (900, 0, "invoke", "poll", WHO),
    (1000, 0, "ok", "poll", WHO | {"records": [[0, [0, 1], [1, 2]]]}),
    (1001, 0, "invoke", "poll", WHO),
    (1100, 0, "ok", "poll", WHO | {"records": []}),
    (1101, 0, "invoke", "poll", WHO),
    (1999, 0, "ok", "poll", WHO | {"records": [[1, [0], [7]], [0, [2, 3], [3, 4]]]}),
    # Transactions that send and read, of which one does not commit and one is never answered.
    (2000, 1, "invoke", "txn", txn(SEND, NOTHING)),
    (2100, 1, "ok", "txn", txn([*SEND, 0], ["poll", "log-0", ONE])),
    (2200, 1, "invoke", "txn", txn(SEND, NOTHING)),
    (2300, 1, "fail", "txn", txn([*SEND, None], ["poll", "log-0", ONE])),
    (2400, 1, "invoke", "txn", txn(SEND, NOTHING)),
    # A send, a poll and a final read that nobody answered, and one of each that failed or is not known.
    (2500, 2, "invoke", "send", [[0, 8], [1, 9]]),
    (2501, 3, "invoke", "poll", WHO),
    (2600, 4, "invoke", "send", [[0, 10], [1, 11]]),
    (2700, 4, "info", "send", [[0, 10, 5, "ok"], [1, 11, None, "info"]]),
    (2710, 5, "invoke", "poll", WHO),
    (2720, 5, "info", "poll", None),
    # Final reads: whole, cut short after some records, and without an answer.
    (3000, "r1", "invoke", "final-read", WHO | {"partition": 1}),
    (3100, "r1", "ok", "final-read", FINAL | {"end": 2, "records": [[1, [0, 1], [7, 9]]]}),
    (3200, "r1", "invoke", "final-read", WHO | {"partition": 1}),
    (3999, "r1", "info", "final-read", FINAL | {"records": [[1, [0, 1], [7, 9]]]}),
    (4000, "r1", "invoke", "final-read", WHO | {"partition": 0}),
)


def test_pulses_are_those_of_every_record_by_itself(spark: SparkSession) -> None:
    simulated = {f"s{seed}": TransactionalSimulation(seed, 4, 300).history() for seed in (3, 4)}
    tables = tables_of(spark, {"calls": CALLS, **simulated})
    found = rows(pulses(tables["records"], tables["operations"]))
    assert found == rows(by_record(tables["records"]))
    counted = {(row[1], row[5]): row[6] for row in found if row[0] == "calls" and row[1] != "send"}
    assert counted == {("read", 10): 5, ("read", 20): 2, ("final-read", 30): 4}
    assert {(row[1], row[4]) for row in found} >= {
        *(("send", outcome) for outcome in ("ok", "fail", "info", "open")),
        *(("read", None), ("final-read", None)),
    }
    assert {row[0] for row in found if row[1] == "final-read"} == {"calls", *simulated}


def test_calls_that_were_ingested_before_that_column_are_counted_too(spark: SparkSession) -> None:
    tables = tables_of(spark, {"calls": CALLS})
    older = tables["operations"].withColumn("returned", F.lit(None).cast("int"))
    found = rows(pulses(tables["records"], older))
    counted = {(row[1], row[5]): row[6] for row in found if row[1] != "send"}
    # A call that returned nothing, or is open, has one micro-operation as well.
    assert counted.pop(("read", 10)) == 5 + 1
    assert counted[("final-read", 30)] == 4


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    assert frame.columns == PULSES.names
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def by_record(records: DataFrame) -> DataFrame:
    """All kinds of records by the six columns that distinguish them, as they stand in `records`."""
    sent = F.col("kind") == "send"
    at_ns = F.coalesce("completed_ns", "invoked_ns")
    second = F.floor(at_ns / (PULSE_NS * PULSES_A_SECOND)) * PULSES_A_SECOND
    outcome = F.when(F.col("completed_ns").isNull(), F.lit("open")).otherwise(F.col("outcome"))
    return (
        records.groupBy(
            "run_id",
            "kind",
            F.when(sent, F.col("topic")).alias("topic"),
            F.when(sent, F.col("partition")).alias("partition"),
            F.when(sent, outcome).alias("outcome"),
            F.when(sent, F.floor(at_ns / PULSE_NS)).otherwise(second).alias("tenth"),
        )
        .agg(
            F.count(F.lit(1)).alias("records"),
            F.min("invoked_ns").alias("invoked_ns"),
            F.min(at_ns).alias("first_ns"),
            F.max(at_ns).alias("last_ns"),
        )
        .select(*PULSES.names)
    )
