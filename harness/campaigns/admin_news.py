"""The console's lines about admin operations, and about conditions that a script waits for."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from checkers.history.error_codes import error_name
from checkers.history.operations import Operation, OperationType

_SHOWN = 3
Told = dict[str, Any]
"""The value of an operation, as readers of a journal get it."""


def admin_news(operation: Operation) -> str | None:
    """One line of a completion; None of anything else."""
    words = _WORDS.get(operation.f)
    if words is None or operation.type is OperationType.INVOKE:
        return None
    return f"{words(operation.key, operation.value)}: {_answered(operation)}"


def _answered(operation: Operation) -> str:
    value: Told = operation.value
    if operation.f == "choose":
        return ", ".join(f"{node} is {part}" for part, node in value.get("parts", {}).items()) or "nobody"
    if operation.f == "gambit":
        ended = {OperationType.OK: "played", OperationType.FAIL: f"not begun, {operation.error}"}
        return ended.get(operation.type, f"ended early, {operation.error}")
    if operation.f == "await":
        return "so it is" if operation.type is OperationType.OK else f"no, {value.get('saw')}"
    if "code" not in value:  # nobody answered, or a client of the workload asked, which reports no code
        how = {OperationType.OK: "done", OperationType.FAIL: "not done"}.get(operation.type, "unknown")
        return f"{how} ({operation.error})" if operation.error else how
    results = Counter(row[2] for row in value.get("results", ()))
    if value["code"] or not results:
        told = value.get("message")
        return _name(value["code"]) + (f" ({told})" if value["code"] and told else "")
    return ", ".join(
        f"{count} {_name(code)}" if count > 1 else _name(code) for code, count in results.items()
    )


def _name(code: int) -> str:
    return error_name(code) if code else "done"


def _election(key: object, value: Told) -> str:
    asked = value["partitions"]
    return f"elect {key} " + (
        "all" if asked is None else _listed([f"{topic}/{number}" for topic, number in asked])
    )


def _moving(_: object, value: Told) -> str:
    every = value["targets"]
    moves = [f"{t}/{n} → {','.join(map(str, ids))}" for t, n, ids in every if ids is not None]
    return f"reassign {_listed(moves)}" if moves else f"cancel reassignments of {len(every)} partitions"


def _listed(texts: list[str]) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + more


def _plain(f: str) -> Callable[[object, Told], str]:
    return lambda key, _: f"{f} {key}"


_WORDS: dict[str, Callable[[object, Told], str]] = {
    "elect-leaders": _election,
    "alter-reassignments": _moving,
    "add-voter": _plain("add voter"),
    "remove-voter": _plain("remove voter"),
    "update-feature": lambda key, value: f"{key} to {value['level']}",
    "alter-topic": lambda key, value: f"{key} {value['config']}={value['value']}",
    "create-partitions": lambda key, value: f"{key} to {value['count']} partitions",
    "late-heartbeat": _plain("late heartbeat of broker"),
    "await": _plain("await"),
    "choose": _plain("choose"),
    "gambit": lambda key, value: f"gambit {key} {value['kind']}",
}
