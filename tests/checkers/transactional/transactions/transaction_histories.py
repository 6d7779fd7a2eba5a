"""Tells histories of transactions in lines of text, in the tiny language of Elle's own tests.

    0 ax1 ry12        process 0 appends 1 to x and reads y as [1 2]; both operations, one after the other
    0 > ax1 ry        process 0 begins; what it will read is not known yet
    0 < ax1 ry12      and commits
    0 ! ax1           or fails
    0 ? ax1           or nobody knows
    0 wx1 ry2 rz_     registers: writes 1 to x, reads y as 2 and z as nil

Elements and values are single digits, keys are single letters.
"""

from typing import Any

from checkers.history.operations import History, Operation, OperationType
from checkers.transactional.transactions import ConsistencyModel, check_list_append, check_rw_register
from checkers.verdict.verdict import Anomaly, CheckerResult

MS = 1_000_000
MARKS = {
    ">": OperationType.INVOKE,
    "<": OperationType.OK,
    "!": OperationType.FAIL,
    "?": OperationType.INFO,
}


def list_operation(word: str) -> list[Any]:
    """A micro-operation: ``ax1`` appends 1 to x, ``ry12`` reads the elements 1 and 2 of y."""
    kind, key, rest = word[0], word[1], word[2:]
    return ["append", key, int(rest)] if kind == "a" else ["r", key, [int(digit) for digit in rest]]


def register_operation(word: str) -> list[Any]:
    """A micro-operation: ``wx1`` writes 1 to x, ``ry2`` reads 2 from y, ``rz_`` reads no value from z."""
    kind, key, rest = word[0], word[1], word[2:]
    return [kind, key, None if rest in {"", "_"} else int(rest)]


def history_of(text: str, *, registers: bool = False) -> History:
    """The history that a text describes."""
    shape = register_operation if registers else list_operation
    operations: list[Operation] = []

    def add(process: str, kind: OperationType, value: list[list[Any]]) -> None:
        index = len(operations)
        if kind is not OperationType.OK:
            value = [[word, key, None if word == "r" else argument] for word, key, argument in value]
        operations.append(Operation(index, index * MS, int(process), kind, "txn", None, value))

    for line in filter(None, map(str.strip, text.splitlines())):
        process, *words = line.split()
        mark = MARKS.get(words[0])
        value = [shape(word) for word in words if word not in MARKS]
        for kind in (OperationType.INVOKE, OperationType.OK) if mark is None else (mark,):
            add(process, kind, value)
    return History("run", "2026-11-20T21:56:57Z", tuple(operations))


def lists(text: str, model: ConsistencyModel = ConsistencyModel.STRICT_SERIALIZABLE) -> CheckerResult:
    """The list-append checker's result for a text."""
    return check_list_append(history_of(text), model)


def registers(text: str, model: ConsistencyModel = ConsistencyModel.STRICT_SERIALIZABLE) -> CheckerResult:
    """The rw-register checker's result for a text."""
    return check_rw_register(history_of(text, registers=True), model)


def only(result: CheckerResult) -> Anomaly:
    """The one anomaly of a result."""
    (anomaly,) = result.anomalies
    return anomaly
