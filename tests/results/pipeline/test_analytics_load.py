"""Records a second, calls of which nobody knows, and the interesting states that runs reached."""

from pyspark.sql import SparkSession

from results.pipeline.analytics.coverage import COVERAGE, COVERAGE_REACHED, coverage, coverage_reached
from results.pipeline.analytics.load import INDETERMINATE, THROUGHPUT, indeterminate, throughput
from results.pipeline.analytics.pulses import PULSES
from results.run.coverage import COUNTERS
from tests.results.pipeline.small_tables import assert_rows, rows_of, table_of


def test_records_of_each_second_by_what_became_of_them(spark: SparkSession) -> None:
    sent = {"kind": "send", "topic": "t", "partition": 0}
    pulses = rows_of(
        spark,
        PULSES,
        sent | {"outcome": "ok", "tenth": 10, "records": 5},
        sent | {"outcome": "ok", "tenth": 19, "records": 2, "partition": 1},
        sent | {"outcome": "info", "tenth": 20, "records": 3},
        sent | {"outcome": "fail", "tenth": 29, "records": 4},
        sent | {"outcome": "open", "tenth": 29, "records": 100},
        {"kind": "read", "tenth": 10, "records": 6},
        {"kind": "final-read", "tenth": 20, "records": 9},
    )
    nothing = dict.fromkeys(("sent_ok", "sent_fail", "sent_info", "read", "read_finally"), 0)
    assert_rows(
        throughput(pulses, table_of(spark, "runs", {})),
        THROUGHPUT,
        nothing | {"second": 1, "sent_ok": 7, "read": 6},
        nothing | {"second": 2, "sent_info": 3, "sent_fail": 4, "read_finally": 9},
    )


def test_calls_of_which_nobody_knows_by_error_without_its_numbers(spark: SparkSession) -> None:
    operations = table_of(
        spark,
        "operations",
        {"f": "send", "type": "ok"},
        {"f": "send", "type": "fail", "error": "refused 7"},
        {"f": "send", "type": "info", "error": "timed out after 30001 ms"},
        {"f": "send", "type": "info", "error": "timed out after 30002 ms"},
        {"f": "send", "type": "open"},
        {"f": "poll", "type": "ok"},
        {"f": "inject", "type": "info", "error": "no"},
    )
    of_sends = {"f": "send", "calls_of_f": 5}
    assert_rows(
        indeterminate(operations, table_of(spark, "runs", {})),
        INDETERMINATE,
        of_sends | {"error": "timed out after # ms", "calls": 2, "rate": 0.4},
        of_sends | {"error": None, "calls": 1, "rate": 0.2},
    )


def test_states_that_checkers_counted_and_those_that_no_run_reached(spark: SparkSession) -> None:
    verdicts = table_of(
        spark,
        "verdicts",
        {"checker": "*", "figures": '{"elections": 100}'},
        {"checker": "elections", "figures": '{"elections": 3, "isr_shrinks": 0, "others": 5}'},
        {"checker": "elections", "figures": '{"elections": 4}', "run_id": "r2"},
        {"checker": "quorum", "figures": '{"voter_sets": null, "elections": 100}'},
        {"checker": "quorum"},
    )
    labels = {counter.figure: counter.label for counter in COUNTERS}
    elections = {"state": "elections", "label": labels["elections"]}
    shrinks = {"state": "isr_shrinks", "label": labels["isr_shrinks"]}
    counted = coverage(verdicts)
    assert_rows(
        counted,
        COVERAGE,
        elections | {"count": 3},
        elections | {"count": 4, "run_id": "r2"},
        shrinks | {"count": 0},
    )
    assert_rows(
        coverage_reached(counted),
        COVERAGE_REACHED,
        elections | {"runs": 2, "reached": 2, "count": 7},
        shrinks | {"runs": 1, "reached": 0, "count": 0},
    )
