"""Starts that failed: reported, a doubt where none became ready, illegal where a node died of itself."""

from typing import Any

from checkers.history.operations import History, Operation, OperationType
from checkers.judge import judge
from checkers.runs.starts import check_starts
from checkers.verdict.verdict import Validity

READY = {"ready": True, "took_s": 9.5}
TRUNCATED = {
    "ready": False,
    "took_s": 90.1,
    "waited_for": "not every broker is unfenced",
    "load_per_cpu": 3.5,
    "sentences": ["b1 truncated its metadata log to offset 0 and was not unfenced"],
    "died": [],
}
DIED = TRUNCATED | {
    "sentences": ["c2 ended with exit code 1: Encountered fatal fault"],
    "died": [{"node": "c2", "exit_code": 1, "said": "ERROR Encountered fatal fault"}],
}


def history(*starts: dict[str, Any]) -> History:
    operations = [
        Operation(index, index * 10**9, "runner", OperationType.OK, "start", str(index + 1), value)
        for index, value in enumerate(starts)
    ]
    return History("run", "", tuple(operations))


def test_a_history_of_before_has_nothing_on_starts() -> None:
    assert check_starts(history()).validity is Validity.NOT_EXERCISED


def test_one_start_is_as_it_should_be() -> None:
    result = check_starts(history(READY))
    assert (result.validity, result.figures) == (Validity.VALID, {"starts": 1})


def test_a_start_that_came_to_nothing_is_reported_and_legal() -> None:
    result = check_starts(history(TRUNCATED, READY))
    assert (result.validity, result.counts) == (Validity.VALID, {"cluster-not-ready": 1})
    (anomaly,) = result.anomalies
    assert not anomaly.illegal
    assert anomaly.witness == (0,)
    assert anomaly.summary == (
        "Start 1 did not become ready within 90 s: "
        "b1 truncated its metadata log to offset 0 and was not unfenced."
    )
    assert anomaly.explanation[-1] == "The host had 3.5 tasks for each CPU."


def test_what_was_waited_for_is_reported_where_nothing_stands_out() -> None:
    silent: dict[str, Any] = TRUNCATED | {"sentences": []}
    nothing = silent | {"waited_for": None}
    summaries = [anomaly.summary for anomaly in check_starts(history(silent, nothing, READY)).anomalies]
    assert [text.partition(": ")[2] for text in summaries] == [
        "not every broker is unfenced.",
        "nothing was recorded.",
    ]


def test_without_any_that_became_ready_there_is_a_doubt() -> None:
    result = check_starts(history(TRUNCATED, TRUNCATED, TRUNCATED | {"sentences": []}))
    assert result.validity is Validity.UNKNOWN
    assert result.unknown_because == (
        "none of 3 starts became ready, the last because: not every broker is unfenced"
    )
    verdict = judge(history(TRUNCATED, TRUNCATED, TRUNCATED))
    assert verdict.validity is Validity.UNKNOWN
    assert any("truncated its metadata log" in reason for reason in verdict.reasons)


def test_a_process_that_ended_by_itself_is_illegal_whatever_came_later() -> None:
    for later in ((READY,), (TRUNCATED, TRUNCATED)):
        result = check_starts(history(DIED, *later))
        assert result.validity is Validity.INVALID
        assert result.counts["node-died-at-start"] == 1
    (death,) = (a for a in result.anomalies if a.illegal)
    assert death.subject == "c2"
    assert death.explanation == ("Its last log line: ERROR Encountered fatal fault",)
