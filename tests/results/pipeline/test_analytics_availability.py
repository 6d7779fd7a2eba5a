"""Gaps between acknowledgements are those that the checker finds, and know which faults they overlap."""

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from checkers.runs.availability import check_availability
from results.pipeline.analytics.availability import (
    AVAILABILITY,
    AVAILABILITY_BY_FAULT,
    AVAILABILITY_IN_FAULTS,
    availability,
    availability_by_fault,
    availability_in_faults,
)
from results.pipeline.analytics.pulses import PULSES, pulses
from tests.checkers.conftest import history_of
from tests.results.pipeline.small_tables import MS, Row, S, assert_rows, rows_of, table_of, tables_of


def sent(at_ms: int, outcome: str = "ok", took_ms: int = 10, **others: object) -> Row:
    """A record of partition t/0, completed then, of a send that began before; `took_ms` -1: it never was."""
    times = {
        "invoked_ns": (at_ms - max(took_ms, 0)) * MS,
        "completed_ns": at_ms * MS if took_ms >= 0 else None,
    }
    return {"kind": "send", "topic": "t", "partition": 0, "outcome": outcome} | times | others


def gap(start_ms: int, end_ms: int, **others: object) -> Row:
    times = {"start_ns": start_ms * MS, "end_ns": end_ms * MS, "unavailable_ms": float(end_ms - start_ms)}
    return {"topic": "t", "partition": 0, "acknowledged": True} | times | others


def test_records_are_counted_by_tenths_of_a_second_and_reads_by_seconds(spark: SparkSession) -> None:
    records = table_of(
        spark,
        "records",
        sent(110),
        sent(190),
        sent(200),
        sent(195, "info"),
        sent(50, "info", took_ms=-1),
    )
    operations = table_of(
        spark,
        "operations",
        {"f": "poll", "returned": 3, "invoked_ns": 1, "completed_ns": 1100 * MS},
        {"f": "txn", "returned": 1, "sends": 5, "invoked_ns": 2, "completed_ns": 1999 * MS},
        {"f": "final-read", "returned": 7, "invoked_ns": 3, "completed_ns": 2000 * MS},
        {"f": "poll", "returned": 0, "invoked_ns": 4, "completed_ns": 1500 * MS},
        {"f": "poll", "returned": 0, "invoked_ns": 5},
    )
    of_t0 = {"kind": "send", "topic": "t", "partition": 0, "records": 1}
    of_reads = {"kind": "read", "tenth": 10, "records": 4, "invoked_ns": 1}
    of_final_reads = {"kind": "final-read", "tenth": 20, "records": 7, "invoked_ns": 3}
    assert_rows(
        pulses(records, operations),
        PULSES,
        of_t0 | {"outcome": "ok", "tenth": 1, "records": 2} | span(100, 110, 190),
        of_t0 | {"outcome": "ok", "tenth": 2} | span(190, 200, 200),
        of_t0 | {"outcome": "info", "tenth": 1} | span(185, 195, 195),
        of_t0 | {"outcome": "open", "tenth": 0} | span(50, 50, 50),
        of_reads | {"first_ns": 1100 * MS, "last_ns": 1999 * MS},
        of_final_reads | {"first_ns": 2000 * MS, "last_ns": 2000 * MS},
    )


def span(invoked_ms: int, first_ms: int, last_ms: int) -> Row:
    return {"invoked_ns": invoked_ms * MS, "first_ns": first_ms * MS, "last_ns": last_ms * MS}


def test_a_gap_is_as_long_as_nothing_was_acknowledged_and_has_how_long_somebody_waited(
    spark: SparkSession,
) -> None:
    records = table_of(
        spark,
        "records",
        sent(1000),
        sent(1099),
        sent(1199),
        sent(2000, took_ms=300),
        sent(2500, "info", took_ms=400),
        sent(2600, "open", took_ms=-1),
        sent(3000, "ok", took_ms=5),
        sent(3001, "ok", partition=1),
    )
    runs = table_of(spark, "runs", {"load_ended_ns": 3500 * MS, "ended_ns": 9 * S})
    assert_rows(
        availability(pulses(records, table_of(spark, "operations")), runs),
        AVAILABILITY,
        gap(1099, 1199, waited_ms=10.0),
        gap(1199, 2000, waited_ms=300.0),
        gap(2000, 3000, waited_ms=900.0),
        gap(3000, 3500, waited_ms=0.0, acknowledged=False),
        gap(3001, 3500, waited_ms=0.0, acknowledged=False, partition=1),
    )


def test_a_fault_overlaps_gaps_and_the_longest_is_its_unavailability(spark: SparkSession) -> None:
    gaps = rows_of(
        spark,
        AVAILABILITY,
        gap(1000, 3000),
        gap(500, 3500, partition=1),
        gap(3000, 9000, partition=2),
        gap(19_000, 20_000),
    )
    faults = table_of(
        spark,
        "faults",
        {"fault": 1, "kind": "kill", "asked_ns": 2 * S, "healed_ns": 3 * S},
        {"fault": 2, "kind": "pause", "asked_ns": 10 * S, "healed_ns": 11 * S},
        {"fault": 3, "kind": "kill", "asked_ns": 19_500 * MS},
    )
    overlaps = availability_in_faults(gaps, faults, table_of(spark, "runs", {"ended_ns": 30 * S}))
    kill, third = {"fault": 1, "fault_kind": "kill"}, {"fault": 3, "fault_kind": "kill"}
    assert_rows(
        overlaps,
        AVAILABILITY_IN_FAULTS,
        without(gap(1000, 3000) | kill, overlap_ms=1000.0),
        without(gap(500, 3500, partition=1) | kill, overlap_ms=1000.0),
        without(gap(19_000, 20_000) | third, overlap_ms=500.0),
    )
    assert_rows(
        availability_by_fault(overlaps, faults),
        AVAILABILITY_BY_FAULT,
        kill | {"gaps": 2, "unavailable_ms": 3000.0, "topic": "t", "partition": 1},
        {"fault": 2, "fault_kind": "pause", "gaps": 0},
        third | {"gaps": 1, "unavailable_ms": 1000.0, "topic": "t", "partition": 0},
    )


def without(row: Row, **others: object) -> Row:
    return {name: value for name, value in row.items() if name != "acknowledged"} | others


STORIES = {
    "several": """
        1.0 send log-0/0 x2 ok
        1.5 send log-0/1 x1 ok
        2.0 f1 kill c1 ok
        2.2 send log-0/0 x1 info
        2.5 send log-0/0 x1 lost
        4.0 send log-0/0 x1 ok
        4.5 send log-0/1 x1 ok
        5.0 f1 heal ok
        6.0 send log-0/0 x1 ok
        6.1 send log-1/0 x1 ok
        9.5 send log-1/0 x1 ok
        20 f2 pause c2 ok
        21 f2 heal ok
        """,
    "never healed": "1 send a/0 x1 ok\n2 f1 kill c1 ok\n8 send a/0 x1 ok\n20 send a/0 x1 ok",
    "to the end": "1 phase load\n2 send a/0 x1 ok\n3 f1 kill c1 ok\n8 f1 heal ok\n9 phase final-read",
    "cut short": "1 phase load\n2 send a/0 x1 ok\n4 f1 pause c1 info\n13 phase evidence\n30 send a/1 x1 ok",
    "spared": "1 phase load\n2 send spared/0 x1 ok\n4 send spared/0 x1 ok\n5 f1 kill c1 ok\n9 phase done",
}


def test_gaps_and_unavailability_are_those_of_the_checker(spark: SparkSession) -> None:
    topics = [
        {"name": name, "partitions": 2, "loaded": name != "spared"} for name in ("a", "log-0", "spared")
    ]
    histories = {name: history_of(text, setup={"topics": topics}) for name, text in STORIES.items()}
    tables = tables_of(spark, histories)
    gaps = availability(pulses(tables["records"], tables["operations"]), tables["runs"]).persist()
    overlaps = availability_in_faults(gaps, tables["faults"], tables["runs"])
    of_faults = availability_by_fault(overlaps, tables["faults"]).orderBy("fault").collect()
    of_gaps = gaps.orderBy(F.desc("unavailable_ms")).collect()
    gaps.unpersist()

    for name, history in histories.items():
        figures, rows = check_availability(history).figures, [row for row in of_gaps if row.run_id == name]
        assert max((row.unavailable_ms for row in rows), default=None) == figures["unavailable_ms_max"], name
        assert partitions(rows) == figures["partitions"], name
        faults = [row.unavailable_ms for row in of_faults if row.run_id == name]
        assert faults == [fault["unavailable_ms"] for fault in figures["faults"]], name
    assert len(of_faults) == 6


def partitions(gaps: list[Any]) -> list[dict[str, object]]:
    """What the checker reports of each partition: of its gaps that are longer than a second."""
    lengths: dict[str, list[float]] = {}
    for row in gaps:
        if row.unavailable_ms > 1000:
            lengths.setdefault(f"{row.topic}/{row.partition}", []).append(row.unavailable_ms)
    return [
        {"partition": name, "gaps": len(each), "unavailable_ms": sum(each), "unavailable_ms_max": max(each)}
        for name, each in lengths.items()
    ]


def test_a_hot_partition_is_counted_where_it_is_read_and_so_are_calls(spark: SparkSession) -> None:
    records = table_of(spark, "records", sent(1000))
    operations = table_of(spark, "operations", {"f": "poll", "returned": 1})
    _, of_sends, of_reads = plan_of(pulses(records, operations)).split("Exchange hashpartitioning")
    assert "partial_count(1)" in of_sends
    assert "partial_sum(returned" in of_reads


def plan_of(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())
