"""The console's lines about admin operations and about conditions that a script awaits."""

from collections import Counter
from collections.abc import Callable

import msgspec
from msgspec import UNSET

from checkers.history.courses import AWAIT, CHOOSE, ChoiceMade
from checkers.history.error_codes import error_name
from checkers.history.faults import GambitBegan
from checkers.history.operations import Operation, OperationType
from checkers.history.requested import (
    BrokerAltered,
    BrokersAltered,
    ElectionRequested,
    FeatureRequested,
    GroupAltered,
    PartitionsAdded,
    ReassignmentRequested,
    Result,
    TopicAltered,
)

_SHOWN = 3


class _Answer(msgspec.Struct, frozen=True):
    """The fields that all completions have.

    There is no code if there was no answer, or if a worker of the load sent the request.
    """

    code: int | None = None
    message: str | None = None
    results: tuple[Result, ...] = ()
    saw: object = None


def admin_line(operation: Operation) -> str | None:
    """The line for a completion; None for any other operation."""
    words = _WORDS.get(operation.f)
    if words is None or operation.type is OperationType.INVOKE:
        return None
    return f"{words(operation.key, operation.value)}: {_answered(operation)}"


def _answered(operation: Operation) -> str:
    if operation.f == CHOOSE:
        return _chosen(operation)
    if operation.f == "gambit":
        ended = {OperationType.OK: "played", OperationType.FAIL: f"not begun, {operation.error}"}
        return ended.get(operation.type, f"ended early, {operation.error}")
    answer = msgspec.convert(operation.value, _Answer)
    if operation.f == AWAIT:
        seen = "" if answer.saw is None else f", saw {answer.saw}"
        return "reached" if operation.type is OperationType.OK else f"not reached{seen}"
    if answer.code is None:
        how = {OperationType.OK: "done", OperationType.FAIL: "not done"}.get(operation.type, "unknown")
        return f"{how} ({operation.error})" if operation.error else how
    results = Counter(code for _, _, code, _ in answer.results)
    if answer.code or not results:
        return _name(answer.code) + (f" ({answer.message})" if answer.code and answer.message else "")
    return ", ".join(
        f"{count} {_name(code)}" if count > 1 else _name(code) for code, count in results.items()
    )


def _chosen(operation: Operation) -> str:
    if operation.type is not OperationType.OK:
        return "nobody"
    parts = msgspec.convert(operation.value, ChoiceMade).parts
    return ", ".join(f"{node} is {part}" for part, node in parts.items()) or "nobody"


def _name(code: int) -> str:
    return error_name(code) if code else "done"


def _election(key: object, value: object) -> str:
    asked = msgspec.convert(value, ElectionRequested).partitions
    return f"elect {key} " + (
        "all" if asked is None else _listed([f"{topic}/{number}" for topic, number in asked])
    )


def _moving(_: object, value: object) -> str:
    every = msgspec.convert(value, ReassignmentRequested).targets
    moves = [f"{t}/{n} → {','.join(map(str, ids))}" for t, n, ids in every if ids is not None]
    return f"reassign {_listed(moves)}" if moves else f"cancel reassignments of {len(every)} partitions"


def _listed(texts: list[str]) -> str:
    more = f" and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
    return ", ".join(texts[:_SHOWN]) + more


def _level(key: object, value: object) -> str:
    asked = msgspec.convert(value, FeatureRequested)
    how = "" if asked.upgrade_type is UNSET else f" by {asked.upgrade_type.replace('-', ' ')}"
    return f"{key} to {asked.level}{how}{', validation only' if asked.validate_only is True else ''}"


def _altered(key: object, value: object) -> str:
    asked = msgspec.convert(value, TopicAltered)
    return f"{key} {asked.config}={asked.value}"


def _defaulted(key: object, value: object) -> str:
    return f"brokers {key}={msgspec.convert(value, BrokersAltered).value}"


def _of_broker(key: object, value: object) -> str:
    asked = msgspec.convert(value, BrokerAltered)
    return f"broker {key} {asked.config}={'removed' if asked.value is None else asked.value}"


def _of_group(key: object, value: object) -> str:
    asked = msgspec.convert(value, GroupAltered)
    return f"group {key} {asked.config}={asked.value}"


def _grown(key: object, value: object) -> str:
    return f"{key} to {msgspec.convert(value, PartitionsAdded).count} partitions"


def _gambit(key: object, value: object) -> str:
    return f"gambit {key} {msgspec.convert(value, GambitBegan).kind}"


def _plain(f: str) -> Callable[[object, object], str]:
    return lambda key, _: f"{f} {key}"


_WORDS: dict[str, Callable[[object, object], str]] = {
    "elect-leaders": _election,
    "alter-reassignments": _moving,
    "add-voter": _plain("add voter"),
    "remove-voter": _plain("remove voter"),
    "update-feature": _level,
    "alter-topic": _altered,
    "alter-brokers": _defaulted,
    "alter-broker": _of_broker,
    "alter-group": _of_group,
    "create-partitions": _grown,
    "late-heartbeat": _plain("late heartbeat of broker"),
    "unregister-broker": _plain("unregister broker"),
    "unregister-controller": _plain("unregister controller"),
    AWAIT: _plain("await"),
    CHOOSE: _plain("choose"),
    "gambit": _gambit,
}
