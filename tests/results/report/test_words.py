"""Operations in words: what was asked and answered, Kafka's names of errors, values that are no cut JSON."""

from typing import Any

import pytest

from checkers.history.operations import Operation, OperationType
from results.report.reading.client_words import RecordContext
from results.report.reading.words import (
    answered_text,
    error_text,
    is_answer,
    operation_partition,
    request_text,
    value_text,
)

HERE = RecordContext("log-0", 3, 205)


def op(f: str, value: Any, key: Any = "log-0", kind: str = "ok") -> Operation:
    return Operation(0, 0, 1, OperationType(kind), f, key, value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ""),
        ("a\u202eb", "a\\u202eb"),
        (7, "7"),
        ([1, [2, 3]], "[1, [2, 3]]"),
        ([], "[]"),
        (list(range(100)), "[0, 1, 2, 3, 4, 5, 6, 7, … 92 more]"),
        ({"a": {"b": list(range(90))}}, '{"a": {"b": [0, 1, 2, 3, 4, 5, 6, 7, … 82 more]}}'),
        ({"long": "x" * 50}, '{"long": "' + "x" * 40 + '…"}'),
        (
            {f"field-{n}": [n] * 9 for n in range(9)},
            '{"field-0": [9 entries], "field-1": [9 entries], … 7 more}',
        ),
        ([["x" * 39] * 3] * 3, "[[3 entries], [3 entries], … 1 more]"),
        ({"x" * 99: {"y": 1}, "z": "w" * 40, "v": "u" * 40}, '{"' + "x" * 40 + '": {1 field}, … 2 more}'),
    ],
)
def test_values_are_whole_or_counted_inside(value: Any, expected: str) -> None:
    assert value_text(value, 72) == expected


def test_what_fits_in_no_way_is_counted() -> None:
    assert value_text(["x" * 40] * 9, 20) == "[9 entries]"
    assert value_text({"x" * 40: "y" * 40}, 20) == "{1 field}"
    assert value_text({"x": 1} | {f"{n}": {} for n in range(20)}, 40).endswith("more}")
    assert value_text(10**60, 20).startswith("1000")


@pytest.mark.parametrize(
    ("error", "expected", "answered"),
    [
        ("[Error 45] OutOfOrderSequenceNumberError: no", "OUT_OF_ORDER_SEQUENCE_NUMBER (45): no", True),
        ("NOT_ENOUGH_REPLICAS: Broker: Not enough in-sync replicas", None, True),
        ("_MSG_TIMED_OUT: Local: Message timed out", None, False),
        ("KafkaTimeoutError: Expiring 2 record(s)", None, False),
        ("[Error 9999] NewError", "UNKNOWN (9999)", False),
        ("", None, False),
    ],
)
def test_errors_have_kafkas_names_and_show_who_raised_them(
    error: str, expected: str | None, *, answered: bool
) -> None:
    assert error_text(error) == (error if expected is None else expected)
    assert is_answer(error) is answered


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (op("send", [[3, 205], [1, 9]]), "send 205 to log-0/3 and 1 more"),
        (op("send", [[1, 9]]), "send 9 to log-0/1"),
        (op("send", {"partition": 3, "first": 5, "count": 3}), "send 5 to 7 to log-0/3"),
        (
            op("final-read", {"partition": 3, "isolation": "read_committed"}),
            "read log-0/3 to its end, read_committed",
        ),
        (op("poll", {"isolation": "read_uncommitted"}), "poll log-0, read_uncommitted"),
        (op("elect-leaders", {"partitions": []}, "unclean"), "elect-leaders unclean: partitions none"),
        (op("recover", None, None), "recover"),
        (op("send", [[]]), "[[]]"),
    ],
)
def test_requests(operation: Operation, expected: str) -> None:
    assert request_text(operation, HERE, 100) == expected


READ = {
    "start": 0,
    "position": 900,
    "end": 900,
    "records": [[3, [203, 204, 206], [1, 2, 3]], [1, [205], [8]]],
}
VIEW = {"topics": {"log-0": [[1, 2, 5, [1, 2], [1]], [3, 2, 7, [1, 2], [2]]]}}


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (op("send", [[3, 205, 205, "ok"], [1, 9, 8, "ok"]]), "205 at offset 205, and 1 more"),
        (op("send", [[1, 9, None, "info"]]), "9 info"),
        (op("final-read", READ), "4 records, from offset 0 to 900; nothing at 205, next to it 204 and 206"),
        (op("poll", {"records": [[3, [205], [7]]]}), "1 record; at 205: 7"),
        (op("poll", {"records": []}), "0 records; nothing at 205"),
        (op("poll", {"records": []}, "other"), "0 records"),
        (op("recover", {"took_ms": 1500}), "the cluster has recovered after 1,500 ms"),
        (op("commit", {"offsets": [[3, 7]]}), "offsets [[3, 7]]"),
        (op("observe", {"answer": "not-leader"}, "quorum"), "quorum: not-leader"),
        (
            op("observe", {"answer": "leader", "leader_epoch": 7, "high_watermark": 1000}, "quorum"),
            "quorum: leader of epoch 7, high watermark 1,000",
        ),
        (
            op(
                "observe",
                {"topic": "a", "partition": 1, "error": None, "log_start": 2, "end": 9, "count": 4},
                "replica",
            ),
            "log of a/1 on disk: offsets from 2 to 9, 4 batches",
        ),
        (
            op("observe", {"topic": "a", "partition": 1, "error": "gone"}, "replica"),
            "log of a/1 could not be read: gone",
        ),
        (op("observe", VIEW, "partitions"), "log-0/3: leader 2, epoch 7, replicas [1, 2], ISR [2]"),
        (op("observe", {"topics": {}}, "partitions"), "partitions: topics none"),
        (
            op("observe", {"what": "latest", "topics": {"log-0": [[3, 7, 900, -1]]}}, "offsets"),
            "offset latest of log-0/3: 900, epoch 7",
        ),
        (
            op("observe", {"what": "latest", "topics": {}}, "offsets"),
            "offsets: what latest, topics none",
        ),
        (
            op("observe", {"topic": "a", "partition": 1, "entries": [[0, 0], [4, 1200]]}, "leader-epochs"),
            "leader epochs of a/1 start: 0 at 0, 4 at 1,200",
        ),
        (
            op(
                "observe",
                {"topic": "a", "partition": 1, "segments": [[0, [[7, 1, 4, 5]], None]]},
                "aborted-transactions",
            ),
            "index of aborted transactions of a/1: 1 entry",
        ),
        (
            op("observe", {"topic": "a", "partition": 1, "error": "gone"}, "aborted-transactions"),
            "index of aborted transactions of a/1 could not be read: gone",
        ),
        (
            op("observe", {"partition": 1, "count": 1000, "ids": ["a", "b"]}, "transaction-states"),
            "states of transactions in __transaction_state/1: 1,000 records of 2 transactional ids",
        ),
        (
            op("observe", {"partition": 1, "error": "gone"}, "transaction-states"),
            "states of transactions in __transaction_state/1 could not be read: gone",
        ),
        (
            op("observe", {"partition": 1, "count": 1000, "places": [["g", "t", 0]]}, "share-states"),
            "states of share groups in __share_group_state/1: 1,000 records of 1 share partitions",
        ),
        (
            op("observe", {"partition": 1, "error": "gone"}, "share-states"),
            "states of share groups in __share_group_state/1 could not be read: gone",
        ),
        (
            op("observe", {"nodes": {"b1": {"log-0": [[3, 9]]}, "b2": {}}}, "ends"),
            "ends of log-0/3 on disk: b1 9",
        ),
        (op("observe", {"nodes": {}, "began_ns": 4}, "ends"), "ends: nodes none"),
        (op("observe", None, "node"), "node"),
        (op("observe", [1], "quorum"), "[1]"),
    ],
)
def test_answers(operation: Operation, expected: str) -> None:
    assert answered_text(operation, HERE, 100) == expected


@pytest.mark.parametrize(
    ("operation", "around", "place"),
    [
        (op("send", [[1, 9], [3, 205]]), HERE, ("log-0", 3)),
        (op("send", [[1, 9]]), HERE, ("log-0", 1)),
        (op("send", {"partition": 2, "first": 5, "count": 3}), RecordContext(), ("log-0", 2)),
        (op("final-read", {"partition": 3}), HERE, ("log-0", 3)),
        (op("poll", {"records": [[3, [], []]]}), HERE, ("log-0", 3)),
        (op("poll", {"isolation": "read_committed"}), HERE, None),
        (op("txn", {"mops": [["send", "t", 4, 1], ["offsets", "g", "t", []]]}), HERE, ("t", 4)),
        (op("commit", {}), HERE, None),
        (op("send", 5), HERE, None),
    ],
)
def test_partitions(operation: Operation, around: RecordContext, place: tuple[str, int] | None) -> None:
    assert operation_partition(operation, around) == place
