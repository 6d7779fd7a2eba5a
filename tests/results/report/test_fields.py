"""Fields of objects in words: no braces, names of errors, units; what has no meaning is left out."""

from typing import Any

import msgspec
import pytest

from checkers.history.operations import Operation, OperationType
from results.report.reading.client_words import RecordContext
from results.report.reading.fields import fields_text
from results.report.reading.words import answered_text, operation_partition, request_text

HERE = RecordContext("txn-0", 3, 21)


def op(f: str, key: Any, value: Any, kind: str = "ok") -> Operation:
    return Operation(0, 0, 1, OperationType(kind), f, key, value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, ""),
        ({"glyph": "M0", "client": "x", "message": None, "error": ""}, ""),
        ({"partition": 1, "to": 2, "code": 16}, "partition 1, at broker 2, NOT_COORDINATOR (16)"),
        ({"to": "b1", "took_ms": 1_234, "code": 0}, "at b1, took 1,234 ms, no error"),
        ({"code": "x", "ms": 3}, "code x, ms 3"),
        ({"known": True, "left_over": False}, "known yes, left over no"),
        (
            {"targets": ["n1"], "groups": [], "saw": {"leader": 2}},
            "targets [n1], groups none, saw (leader 2)",
        ),
        ({"many": list(range(9)), "one": [[1, [2, [3]]]]}, "many (9 entries), one [[1, (2 entries)]]"),
        ({"topics": {f"t-{n}": 1 for n in range(30)}}, "topics (30 fields)"),
        ({"a": {"b": {"c": {"d": 1}}}}, "a (b (c (1 field)))"),
    ],
)
def test_fields(value: dict[str, Any], expected: str) -> None:
    assert fields_text(value, 200) == expected


def test_fields_that_do_not_fit_are_counted() -> None:
    assert (
        fields_text({"first": "x" * 30, "second": 2, "third": 3}, 60)
        == f"first {'x' * 30}, and 2 more fields"
    )
    assert fields_text({"first": 1, "second": "y" * 50}, 40) == "first 1, and 1 more field"
    assert len(fields_text({"x" * 400: "y" * 400}, 100)) < 140


ACKNOWLEDGED = {
    "group": "share-0",
    "acknowledgements": [[1, [3, 4, 5], ["accept", "release", "accept"]]],
    "refused": [],
}
LEADING = {"answer": "leader", "leader_epoch": 7, "high_watermark": 9, "voters": [[1], [3]]}
THREE = "acknowledged 3 records of shares-0 (2 accept, 1 release)"
MOPS: list[list[Any]] = [
    ["send", "txn-0", 1, 7, 20],
    ["send", "txn-0", 3, 8, 20],
    ["send", "txn-0", 3, 9, 21],
    ["poll", "txn-0"],
]


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (op("share-poll", "shares-0", {"group": "share-0"}), "poll shares-0 for share group share-0"),
        (
            op("acknowledge", "shares-0", ACKNOWLEDGED),
            "acknowledge 3 records of shares-0 (2 accept, 1 release)",
        ),
        (
            op("txn", "txn-4", {"end": "commit", "mops": [mop[:4] for mop in MOPS]}),
            "transaction of txn-4: 8 to txn-0/3, 2 more sends, 1 poll, commit",
        ),
        (op("txn", "txn-4", {"end": "abort", "mops": []}), "transaction of txn-4: abort"),
        (
            op("commit", "g", {"topic": "t", "offsets": [[n, n + 5] for n in range(6)]}),
            "commit for group g: t/0 at 5, t/1 at 6, t/2 at 7, t/3 at 8 and 2 more",
        ),
        (
            op("assign", "t", [[n, 0] for n in range(5)]),
            "assigned t/0 from 0, t/1 from 0, t/2 from 0, t/3 from 0 and 1 more",
        ),
        (op("assign", "t", []), "assigned nothing"),
    ],
)
def test_requests_of_groups_and_transactions(operation: Operation, expected: str) -> None:
    assert request_text(operation, HERE, 200) == expected


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (op("acknowledge", "shares-0", ACKNOWLEDGED), THREE),
        (
            op("acknowledge", "shares-0", ACKNOWLEDGED | {"refused": [[1, "FENCED: no"], [2, "GONE"]]}),
            f"{THREE}; refused: partition 1: FENCED: no; partition 2: GONE",
        ),
        (
            op("txn", "t", {"ended": "commit", "mops": MOPS}),
            "transaction committed, 9 to txn-0/3@21, 2 more sends",
        ),
        (op("txn", "t", {"ended": "abort", "mops": MOPS[:1]}), "transaction aborted, 7 to txn-0/1@20"),
        (op("txn", "t", {"ended": "unknown", "mops": []}), "transaction unknown"),
        (op("commit", "g", {"topic": "t", "offsets": []}), "committed no offset"),
        (op("commit", "g", {"topic": "t"}), "topic t"),
        (
            op("share-poll", "txn-0", {"records": [[3, [20, 21], [5, 6], [1, 2]]]}),
            "2 records; at 21: 6",
        ),
        (op("recover", None, {"took_ms": 1500}, "info"), "the cluster had not recovered after 1,500 ms"),
        (
            op("observe", "vote", {"candidate_id": 2, "epoch": 7, "granted": True, "pre_vote": False}),
            "gave its vote to 2 in epoch 7",
        ),
        (
            op("observe", "vote", {"candidate_id": 2, "epoch": 7, "granted": False, "pre_vote": True}),
            "refused a pre-vote to 2 in epoch 7",
        ),
        (
            op("observe", "elected", {"epoch": 7, "granting": [1, 3]}),
            "became leader of epoch 7 by votes of 1, 3",
        ),
        (op("observe", "node-log", {"line": 7, "text": "died"}), "line 7 of its log: died"),
        (
            op("observe", "quorum", LEADING),
            "quorum: leader of epoch 7, high watermark 9, voters 1, 3",
        ),
    ],
)
def test_answers_in_words(operation: Operation, expected: str) -> None:
    assert answered_text(operation, HERE, 200) == expected


def test_a_share_poll_has_the_partition_of_its_records() -> None:
    polled = op("share-poll", "txn-0", {"records": [[1, [2], [3], [1]], [3, [2], [3], [1]]]})
    assert operation_partition(polled, HERE) == ("txn-0", 3)


@pytest.mark.parametrize("nested", [b"[" * 900 + b"]" * 900, b'{"x":' * 900 + b"1" + b"}" * 900])
def test_a_value_that_is_nested_deeper_than_python_can_follow(nested: bytes) -> None:
    value = msgspec.json.decode(b'{"inner":' + nested + b"}")
    for f in ("observe", "send", "txn", "acknowledge", "unheard-of"):
        for text_of in (request_text, answered_text):
            assert "inner" in text_of(op(f, "k", value), HERE, 120)


def test_an_object_in_a_field_has_a_limit() -> None:
    inner = {f"x{n}": None for n in range(21)}
    assert fields_text({"one": inner}, 200) == "one (21 fields)"
    inner.pop("x0")
    assert fields_text({"one": inner | {"x1": 5}}, 200) == "one (x1 5)"
