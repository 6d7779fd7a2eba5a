"""Loads the register operations of a history into columns, without a Python loop over operations."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import compress, count, islice
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from checkers.columns.tables import NEVER, NONE, Booleans, Integers
from checkers.history.journals import is_unheard
from checkers.history.operations import FAIL, INVOKE, OK, History, Operation
from checkers.registers.columns import SHIFT, Registers, Rows

Objects = NDArray[np.object_]

_FUNCTIONS = frozenset({"write", "read", "cas"})
_CHUNK = 2**13
"""Number of operations that are processed at a time, so that they fit the processor's cache."""
_PLAIN = frozenset({int, str, type(None)})
"""Types whose values are equal in Python if and only if they are equal in JSON."""


class Unreadable(NamedTuple):
    """The reason why the registers of a history can't be loaded."""

    reason: str


class _IncomparableError(Exception):
    """A key or a value has no JSON form, or is nested too deeply."""


def registers_of(history: History, initial: object = None) -> Registers | Unreadable | None:
    """Load the registers of a history; None if it has no register operation.

    Args:
        history: its operations may be of any shape; keys and values are JSON values.
        initial: value of every register before it is written.
    """
    chosen = bytes(map(_FUNCTIONS.__contains__, map(attrgetter("f"), history.operations)))
    if not any(chosen):
        return None
    try:
        events = _events(history.operations, chosen)
        if history.lacking:
            events = replace(events, ok=events.ok & ~_unheard(history, events))
        pairs = _paired(events)
        if isinstance(pairs, Unreadable):
            return pairs
        return _loaded(events, pairs, initial, len(history.operations))
    except _IncomparableError as error:
        return Unreadable(str(error))


def _unheard(history: History, events: "_Events") -> Booleans:
    """Reads of values whose writing is unknown, because the writer's journal is missing.

    The values in krucible's own runs identify their writer (`checkers.history.journals`).
    """
    values = events.value.tolist()
    rows = [row for row, value in enumerate(values) if type(value) is int and 0 <= value <= NEVER]
    unheard = np.zeros(len(values), np.bool_)
    unheard[rows] = is_unheard(history)(np.array([values[row] for row in rows], dtype=np.int64))
    return unheard & ~events.write & ~events.cas


@dataclass(frozen=True, slots=True)
class _Events:
    """Invocations and completions, one row each, in the order of the history."""

    index: Integers
    process: Integers
    key: Integers
    keys: tuple[object, ...]
    value: Objects
    write: Booleans
    cas: Booleans
    invoke: Booleans
    ok: Booleans
    fail: Booleans


class _Pairs(NamedTuple):
    """Operations: rows of `_Events` for invocations and for completions, `NONE` if there is none."""

    began: Integers
    ended: Integers


class _Codes(dict[object, int]):
    """Numbers values 0, 1, 2 … in the order of their appearance; 1, 1.0 and true differ."""

    def __missing__(self, name: object) -> int:
        code = self[name] = len(self)
        return code

    def of(self, values: list[object]) -> Integers:
        """Return the codes of values."""
        names = values if _plain(values) else map(_canonical, values)
        return np.fromiter(map(self.__getitem__, names), np.int64, len(values))


def _events(operations: Sequence[Operation], chosen: bytes) -> _Events:
    index = np.flatnonzero(np.frombuffer(chosen, np.bool_))
    process, key = np.empty((2, len(index)), np.int64)
    write, cas, invoke, ok, fail = np.empty((5, len(index)), np.bool_)
    value = np.empty(len(index), np.object_)
    processes, names = _Codes(), _Codes()
    rest = compress(operations, chosen)
    for begin in range(0, len(index), _CHUNK):
        some = list(islice(rest, _CHUNK))
        rows = slice(begin, begin + len(some))
        process[rows] = processes.of(list(map(attrgetter("process"), some)))
        key[rows] = names.of(list(map(attrgetter("key"), some)))
        value[rows] = np.fromiter(map(attrgetter("value"), some), np.object_, len(some))
        functions, types = list(map(attrgetter("f"), some)), list(map(attrgetter("type"), some))
        write[rows], cas[rows] = _equal(functions, "write"), _equal(functions, "cas")
        invoke[rows] = _equal(types, INVOKE)
        ok[rows], fail[rows] = _equal(types, OK), _equal(types, FAIL)
    first = index[np.flatnonzero(np.diff(np.maximum.accumulate(key), prepend=-1))]
    keys = tuple(operations[place].key for place in first.tolist())
    return _Events(index, process, key, keys, value, write, cas, invoke, ok, fail)


def _equal(texts: list[str], text: str) -> Booleans:
    # str's own comparison: an enumeration's would be a call into Python for each.
    return np.fromiter(map(str(text).__eq__, texts), np.bool_, len(texts))


def _plain(values: Iterable[object]) -> bool:
    return set(map(type, values)) <= _PLAIN


def _canonical(value: object) -> object:
    """A hashable form, equal if and only if two JSON values are equal; 1, 1.0 and true differ."""
    if type(value) in _PLAIN:
        return value
    try:
        return (json.dumps(value, sort_keys=True),)
    except (TypeError, ValueError, RecursionError) as error:
        raise _IncomparableError(f"a key or a value can't be compared with others: {error}") from None


def _paired(events: _Events) -> _Pairs | Unreadable:
    # NumPy sorts 16 bits by radix sort, several times as fast as 64 bits.
    narrow = events.process.astype(np.uint16) if events.process.max() < 2**16 else events.process
    order = np.argsort(narrow, kind="stable")
    invoke, process = events.invoke[order], events.process[order]
    same = np.concatenate(([False], process[1:] == process[:-1]))
    follows = same & np.concatenate(([False], invoke[:-1]))
    previous = order[np.maximum(np.arange(len(order)) - 1, 0)]
    alike = (events.key[order] == events.key[previous]) & (
        _function(events, order) == _function(events, previous)
    )
    wrong = np.flatnonzero(np.where(invoke, follows, ~(follows & alike)))
    if len(wrong):
        at = int(wrong[np.argmin(order[wrong])])
        problem = "begins while another is outstanding" if invoke[at] else "completes what was not begun"
        return Unreadable(f"operation {events.index[order[at]]} {problem}")
    began = np.flatnonzero(invoke)
    completed = np.concatenate((~invoke, [False]))[began + 1]
    after = order[np.minimum(began + 1, len(order) - 1)]
    return _Pairs(order[began], np.where(completed, after, NONE))


def _function(events: _Events, rows: Integers) -> Integers:
    return events.write[rows] + 2 * events.cas[rows]


def _loaded(events: _Events, pairs: _Pairs, initial: object, length: int) -> Registers:
    began, ended = pairs
    write, cas = events.write[began], events.cas[began]
    failed = write & (ended != NONE) & events.fail[ended]
    happened = (write & ~failed) | (~write & ~cas & (ended != NONE) & events.ok[ended])
    kept, dropped = np.flatnonzero(happened), np.flatnonzero(failed)
    rows = np.concatenate((kept, dropped))
    value_row = np.where(write[rows], began[rows], ended[rows])
    value, begun_as = _values(events.value[value_row].tolist(), initial)
    horizon = length + SHIFT
    finish = np.where((ended != NONE) & events.ok[ended], events.index[ended] + SHIFT, horizon)[rows]
    start, key, write = events.index[began[rows]] + SHIFT, events.key[began[rows]], write[rows]

    def part(which: slice) -> Rows:
        return Rows(key[which], value[which], write[which], start[which], finish[which], horizon)

    return Registers(
        keys=events.keys,
        rows=_with_initial(part(slice(None, len(kept))), begun_as),
        failed=part(slice(len(kept), None)),
        swapped=tuple(np.unique(events.key[events.cas]).tolist()),
        operations=len(began),
    )


def _values(values: list[Any], initial: object) -> tuple[Integers, int | None]:
    """Codes of values, and the code of the initial value; None if it does not occur.

    An integer of 64 bits is its own code.
    """
    if set(map(type, values)) <= {int} and _fits(values):
        known = initial if type(initial) is int and _fits([initial]) else None
        return np.array(values, dtype=np.int64), known
    codes = _Codes(zip(dict.fromkeys(values), count(), strict=False)) if _plain(values) else _Codes()
    return codes.of(values), codes.get(_canonical(initial))


def _fits(values: Iterable[int]) -> bool:
    limits = np.iinfo(np.int64)
    return all(
        limits.min <= limit <= limits.max for limit in (min(values, default=0), max(values, default=0))
    )


def _with_initial(rows: Rows, initial: int | None) -> Rows:
    """Add a write of the initial value to each register from which it was read."""
    if initial is None:
        return rows
    keys = np.unique(rows.key[(rows.value == initial) & ~rows.write])
    return Rows(
        key=np.concatenate((rows.key, keys)),
        value=np.concatenate((rows.value, np.full_like(keys, initial))),
        write=np.concatenate((rows.write, np.ones(len(keys), np.bool_))),
        start=np.concatenate((rows.start, np.zeros_like(keys))),
        finish=np.concatenate((rows.finish, np.ones_like(keys))),
        horizon=rows.horizon,
    )
