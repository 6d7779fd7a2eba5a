"""The console's words for admin operations."""

from typing import Any

import pytest

from checkers.history.operations import Operation, OperationType
from harness.campaigns.admin_lines import admin_line

OK, INFO = OperationType.OK, OperationType.INFO
ELECT = {"partitions": [["t", 0], ["t", 1], ["t", 2], ["t", 3]], "code": 0, "message": None}
NODE = {"to": "n1", "code": 0, "message": "NONE"}


@pytest.mark.parametrize(
    ("kind", "f", "key", "value", "line"),
    [
        (
            OK,
            "elect-leaders",
            "unclean",
            ELECT | {"results": [["t", n, 84 if n else 0, None] for n in range(4)]},
            "elect unclean t/0, t/1, t/2 and 1 more: done, 3 ELECTION_NOT_NEEDED",
        ),
        (OK, "elect-leaders", "preferred", NODE | {"partitions": None}, "elect preferred all: done"),
        (OK, "add-voter", 3, NODE, "add voter 3: done"),
        (OK, "choose", "g1", {"parts": {"leader": "b1"}}, "choose g1: b1 is leader"),
        (INFO, "choose", "g1", {}, "choose g1: nobody"),
        (OK, "gambit", "g1", {"kind": "x"}, "gambit g1 x: played"),
        (INFO, "gambit", "g1", {"kind": "x"}, "gambit g1 x: ended early, timed out"),
        (OperationType.FAIL, "gambit", "g1", {"kind": "x"}, "gambit g1 x: not begun, timed out"),
        (
            OperationType.FAIL,
            "remove-voter",
            3,
            NODE | {"code": 127, "message": "who"},
            "remove voter 3: VOTER_NOT_FOUND (who)",
        ),
        (INFO, "remove-voter", 3, {"to": "n1"}, "remove voter 3: unknown (timed out)"),
        (OperationType.FAIL, "add-voter", 3, {"to": "n1"}, "add voter 3: not done (timed out)"),
        (
            OK,
            "alter-reassignments",
            None,
            NODE | {"targets": [["t", 0, [2, 3]]], "results": [["t", 0, 0, None]]},
            "reassign t/0 → 2,3: done",
        ),
        (
            OK,
            "alter-reassignments",
            None,
            NODE | {"targets": [["t", 0, None], ["t", 1, None]], "results": [["t", 0, 85, None]]},
            "cancel reassignments of 2 partitions: NO_REASSIGNMENT_IN_PROGRESS",
        ),
        (OK, "update-feature", "kraft.version", NODE | {"level": 1}, "kraft.version to 1: done"),
        (
            OK,
            "update-feature",
            "share.version",
            NODE | {"level": 1, "upgrade_type": "safe-downgrade", "validate_only": True},
            "share.version to 1 by safe downgrade, validation only: done",
        ),
        (OK, "alter-topic", "t", NODE | {"config": "a", "value": "b"}, "t a=b: done"),
        (OK, "alter-brokers", "a", NODE | {"value": "b"}, "brokers a=b: done"),
        (OK, "alter-group", "g", NODE | {"config": "a", "value": "b"}, "group g a=b: done"),
        (OK, "alter-broker", 3, NODE | {"config": "a", "value": "b"}, "broker 3 a=b: done"),
        (OK, "alter-broker", 3, NODE | {"config": "a", "value": None}, "broker 3 a=removed: done"),
        (OK, "unregister-broker", 3, NODE, "unregister broker 3: done"),
        (
            OperationType.FAIL,
            "unregister-controller",
            103,
            {"to": "n1"},
            "unregister controller 103: not done (timed out)",
        ),
        (OK, "create-partitions", "t", NODE | {"count": 8}, "t to 8 partitions: done"),
        (OK, "late-heartbeat", 2, NODE | {"is_fenced": False}, "late heartbeat of broker 2: done"),
        (OK, "await", "in-sync", {"saw": [1]}, "await in-sync: reached"),
        (INFO, "await", "in-sync", {"saw": [1]}, "await in-sync: not reached, saw [1]"),
        (INFO, "await", "in-sync", {"saw": None}, "await in-sync: not reached"),
        (OK, "send", "t", [], None),
        (OperationType.INVOKE, "await", "in-sync", {}, None),
    ],
)
def test_lines_of_admin_operations(
    kind: OperationType, f: str, key: Any, *, value: Any, line: str | None
) -> None:
    operation = Operation(0, 0, "admin", kind, f, key, value, error="timed out")
    assert admin_line(operation) == line


@pytest.mark.parametrize(
    ("kind", "error", "line"),
    [
        (OK, None, "t to 8 partitions: done"),
        (INFO, "INVALID_PARTITIONS", "t to 8 partitions: unknown (INVALID_PARTITIONS)"),
        (INFO, None, "t to 8 partitions: unknown"),
        (OperationType.FAIL, None, "t to 8 partitions: not done"),
    ],
)
def test_an_answer_without_a_code_is_described_by_its_outcome(
    kind: OperationType, error: str | None, line: str
) -> None:
    """The workload's own clients record no code."""
    operation = Operation(0, 0, "4", kind, "create-partitions", "t", {"count": 8}, error=error)
    assert admin_line(operation) == line
