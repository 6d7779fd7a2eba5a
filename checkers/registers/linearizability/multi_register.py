"""Several registers: one operation is one atomic list of reads and writes."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

from checkers.history.operations import Operation
from checkers.registers.linearizability.canonical import UnreadableError, canonical, shown
from checkers.registers.linearizability.contract import INCONSISTENT, UNKNOWN, Action, Model, State
from checkers.registers.linearizability.operands import is_ok, unknown_operation

_WORDS = {"r": "read", "read": "read", "w": "write", "write": "write"}


class _Part(NamedTuple):
    """One read or write of a transaction; the value of a read without a known result is `UNKNOWN`."""

    f: str
    key: Hashable
    value: Hashable


def multi_register(initial: object = None) -> Model:
    """Registers by name; `initial` maps names to values, and registers without an entry start with null."""
    if initial is not None and not isinstance(initial, Mapping):
        raise UnreadableError(f"a multi-register begins with a map, not {shown(canonical(initial))}")
    begin = {canonical(key): canonical(value) for key, value in (initial or {}).items()}

    def action_of(invoke: Operation, completion: Operation | None) -> Action | None:
        if invoke.f not in ("txn", "read", "write"):
            raise unknown_operation(invoke, "multi-register")
        return _action(invoke, completion, begin)

    return Model(
        "multi-register", _state(begin), _step, action_of, _observes, _refusal, _map_text, _by_connection
    )


def _action(
    invoke: Operation, completion: Operation | None, begin: Mapping[Hashable, Hashable]
) -> Action | None:
    answer = completion.value if completion is not None and is_ok(completion) else None
    asked = answer if invoke.value is None else invoke.value
    parts = _parts(asked, begin, seen=False)
    if answer is not None:
        answered = _parts(answer, begin, seen=True)
        if [_question(part) for part in answered] != [_question(part) for part in parts]:
            raise UnreadableError("completed with other reads and writes than it was invoked with")
        parts = answered
    needed = tuple(part for part in parts if part.value is not UNKNOWN)
    return Action("txn", needed) if needed else None


def _question(part: _Part) -> tuple[Hashable, ...]:
    return part[:2] if part.f == "read" else part


def _parts(value: object, begin: Mapping[Hashable, Hashable], *, seen: bool) -> tuple[_Part, ...]:
    """The reads and writes of a transaction; results count only where they were `seen`."""
    if not isinstance(value, list | tuple):
        raise UnreadableError(f"a transaction is a list, not {shown(canonical(value))}")
    return tuple(_part(item, begin, seen=seen) for item in value)


def _part(item: object, begin: Mapping[Hashable, Hashable], *, seen: bool) -> _Part:
    if not isinstance(item, list | tuple) or len(item) != 3 or not isinstance(item[0], str):  # noqa: PLR2004 - f, key, value
        raise UnreadableError(f"a part of a transaction is [f key value], not {shown(canonical(item))}")
    if item[0] not in _WORDS:
        raise UnreadableError(f"a transaction reads or writes; it can't {shown(item[0])}")
    f, key, value = _WORDS[item[0]], canonical(item[1]), canonical(item[2])
    if f == "read" and (not seen or (value is None and begin.get(key) is not None)):
        return _Part(f, key, UNKNOWN)
    return _Part(f, key, value)


def _state(values: Mapping[Hashable, Hashable]) -> State:
    """Pairs of key and value in a fixed order; a register with null equals one that was never written."""
    return tuple(sorted(((key, value) for key, value in values.items() if value is not None), key=repr))


def _values(state: State) -> dict[Hashable, Hashable]:
    return dict(state)  # type: ignore[call-overload, no-any-return]  # `_state` makes pairs


def _done(state: State, action: Action) -> tuple[dict[Hashable, Hashable], list[tuple[_Part, Hashable]]]:
    """The values after an action, and the reads that contradict them, each with the register's value."""
    values = _values(state)
    wrong = []
    parts: Iterable[_Part] = action.argument  # type: ignore[assignment]  # this model's arguments are parts
    for part in parts:
        if part.f == "write":
            values[part.key] = part.value
        elif values.get(part.key) != part.value:
            wrong.append((part, values.get(part.key)))
    return values, wrong


def _step(state: State, action: Action) -> State:
    values, wrong = _done(state, action)
    return INCONSISTENT if wrong else _state(values)


def _observes(action: Action) -> bool:
    parts: Iterable[_Part] = action.argument  # type: ignore[assignment]  # this model's arguments are parts
    return all(part.f == "read" for part in parts)


def _refusal(state: State, action: Action) -> str:
    _, wrong = _done(state, action)
    part, held = wrong[0]
    return f"can't read {shown(part.value)} from {shown(part.key)}, which holds {shown(held)}"


def _map_text(state: State) -> str:
    return shown(("map", *_values(state).items()))


def _by_connection(actions: Sequence[Action]) -> Sequence[Hashable]:
    """The group of each action: registers that no chain of transactions connects are independent.

    A group is named by one of its keys.
    """
    leader: dict[Hashable, Hashable] = {}

    def find(key: Hashable) -> Hashable:
        while leader.setdefault(key, key) != key:
            leader[key] = leader[leader[key]]
            key = leader[key]
        return key

    touched: list[list[Hashable]] = [[part.key for part in action.argument] for action in actions]  # type: ignore[attr-defined]  # they are parts
    for first, *others in touched:
        for other in others:
            leader[find(other)] = find(first)
    return [find(first) for first, *_ in touched]
