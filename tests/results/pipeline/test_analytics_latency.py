"""Calls are grouped by the kinds of faults they overlap, each once, and spans never meet in a nested loop."""

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from checkers.runs.availability import check_availability
from results.pipeline.analytics.latency import LATENCY, fault_windows, latency
from results.pipeline.analytics.overlaps import SpanColumns, overlapping
from tests.checkers.conftest import history_of
from tests.results.pipeline.small_tables import MS, Row, S, assert_rows, table_of, tables_of

RUN = {"ended_ns": 100 * S}
FAULT = {"fault": 1, "kind": "kill", "asked_ns": S, "healed_ns": 2 * S}


def call(begun_ms: int, took_ms: int, **others: object) -> Row:
    times = {"invoked_ns": begun_ms * MS, "completed_ns": (begun_ms + took_ms) * MS}
    return {"f": "send", "type": "ok", "latency_ns": took_ms * MS} | times | others


def fault(number: int, kind: str, asked_s: int, healed_s: int | None) -> Row:
    healed_ns = None if healed_s is None else healed_s * S
    return {"fault": number, "kind": kind, "asked_ns": asked_s * S, "healed_ns": healed_ns}


def test_every_pair_that_overlaps_is_listed_once(spark: SparkSession) -> None:
    spans = table_of(
        spark,
        "operations",
        {"index": 1, "invoked_ns": 1, "completed_ns": 30 * S},
        {"index": 2, "invoked_ns": 5 * S, "completed_ns": 5 * S},
        {"index": 3, "invoked_ns": 5 * S + 1, "completed_ns": 6 * S},
        {"index": 4, "invoked_ns": 4 * S, "completed_ns": None},
        {"index": 5, "invoked_ns": 1, "completed_ns": 30 * S, "run_id": "r2"},
        {"index": 6, "invoked_ns": 1, "completed_ns": 10**18},
    ).select("run_id", "index", "invoked_ns", "completed_ns")
    faults = table_of(spark, "faults", fault(7, "kill", 2, 5), fault(8, "kill", 29, 60))
    windows = faults.select("run_id", "fault", "asked_ns", "healed_ns")
    pairs = overlapping(
        spans, SpanColumns("invoked_ns", "completed_ns"), windows, SpanColumns("asked_ns", "healed_ns")
    )
    assert sorted((row["index"], row["fault"]) for row in pairs.collect()) == [
        *((1, 7), (1, 8), (2, 7)),
        *((6, 7), (6, 8)),
    ]


def test_faults_of_a_kind_that_overlap_are_one_window_and_the_rest_is_quiet(spark: SparkSession) -> None:
    runs = table_of(spark, "runs", RUN, RUN | {"run_id": "r2"})
    faults = table_of(
        spark,
        "faults",
        fault(1, "kill", 10, 20),
        fault(2, "kill", 15, 18),
        fault(3, "kill", 30, 40),
        fault(4, "pause", 19, 25),
        fault(5, "wipe-disk", 50, None),
    )
    windows = {(w.run_id, w.fault_kind, w.from_ns, w.until_ns, w.before_ns) for w in collected(faults, runs)}
    assert windows == {
        ("r1", "kill", 10 * S, 20 * S, -1),
        ("r1", "kill", 30 * S, 40 * S, 20 * S),
        ("r1", "pause", 19 * S, 25 * S, -1),
        ("r1", "wipe-disk", 50 * S, 100 * S, -1),
        ("r1", "none", 0, 10 * S - 1, -1),
        ("r1", "none", 25 * S + 1, 30 * S - 1, 25 * S),
        ("r1", "none", 40 * S + 1, 50 * S - 1, 40 * S),
        ("r2", "none", 0, 100 * S, -1),
    }


def collected(faults: DataFrame, runs: DataFrame) -> list[Any]:
    return list(fault_windows(faults, runs).collect())


def test_a_call_counts_once_for_each_kind_that_it_overlaps_and_else_for_none(spark: SparkSession) -> None:
    operations = table_of(
        spark,
        "operations",
        call(1000, 10),
        call(2000, 30),
        call(9995, 10),
        call(12_000, 40_000),
        call(15_000, 20, f="txn"),
        call(35_000, 20, type="info"),
        call(35_000, 20, f="inject"),
        {"f": "send", "type": "open", "invoked_ns": 36 * S},
    )
    faults = table_of(
        spark, "faults", fault(1, "kill", 10, 20), fault(2, "kill", 30, 40), fault(3, "pause", 50, 55)
    )
    in_kill = {"f": "send", "fault_kind": "kill", "calls": 2} | quantiles(20_005.0, 10.0, 40_000.0)
    in_pause = {"f": "send", "fault_kind": "pause", "calls": 1} | quantiles(40_000.0, 40_000.0, 40_000.0)
    in_none = {"f": "send", "fault_kind": "none", "calls": 2} | quantiles(20.0, 10.0, 30.0)
    txn = {"f": "txn", "fault_kind": "kill", "calls": 1} | quantiles(20.0, 20.0, 20.0)
    assert_rows(
        latency(operations, faults, table_of(spark, "runs", RUN)), LATENCY, in_kill, in_pause, in_none, txn
    )


def quantiles(median_ms: float, least_ms: float, max_ms: float) -> Row:
    """Of two calls, or one: between the two the quantiles lie on a line."""
    ranks = {"p90_ms": 0.9, "p99_ms": 0.99, "p999_ms": 0.999}
    between = {name: least_ms + rank * (max_ms - least_ms) for name, rank in ranks.items()}
    return {"p50_ms": median_ms, "max_ms": max_ms} | between


def test_quantiles_are_those_of_the_checker(spark: SparkSession) -> None:
    history = history_of(
        """
        1.0 send a/0 x1 ok
        2.0 f1 kill c1 ok
        2.2 send a/0 x1 ok
        3.0 send a/0 x1 info
        4.0 f1 heal ok
        5.0 send a/0 x1 ok
        6.0 send a/0 x1 lost
        """
    )
    figures = check_availability(history).figures
    tables = tables_of(spark, {"r1": history})
    found = latency(tables["operations"], tables["faults"], tables["runs"]).collect()
    percentiles = {
        row.fault_kind: {"p50": round(row.p50_ms, 3), "p99": round(row.p99_ms, 3)} for row in found
    }
    assert percentiles == {
        "kill": figures["latency_in_faults_ms"],
        "none": figures["latency_out_of_faults_ms"],
    }


@pytest.mark.parametrize("broadcast", ["-1", "10MB"])
def test_spans_meet_by_buckets_and_never_in_a_nested_loop(spark: SparkSession, broadcast: str) -> None:
    before = spark.conf.get("spark.sql.autoBroadcastJoinThreshold")
    assert before is not None
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", broadcast)
    try:
        # Of empty tables no join would be planned.
        operations, faults = table_of(spark, "operations", call(1, 2)), table_of(spark, "faults", FAULT)
        plan = plan_of(latency(operations, faults, table_of(spark, "runs", RUN)))
    finally:
        spark.conf.set("spark.sql.autoBroadcastJoinThreshold", before)
    assert "NestedLoop" not in plan
    assert "Cartesian" not in plan
    assert "_bucket" in plan
    assert ("SortMergeJoin" in plan) == (broadcast == "-1")


def plan_of(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())
