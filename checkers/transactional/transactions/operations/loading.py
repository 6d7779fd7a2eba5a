"""Converts a history of transactions to columns: one row per transaction, one per micro-operation."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from checkers.columns.tables import NONE, Booleans, Integers, SendOutcome
from checkers.history.operations import History, Operation, OperationType
from checkers.transactional.transactions.operations.coding import coded

_TYPES = (OperationType.OK, OperationType.FAIL, OperationType.INFO, OperationType.INVOKE)
_INVOKE = _TYPES.index(OperationType.INVOKE)
WORDS = frozenset({"append", "r", "w"})
"""First words of the micro-operations of Elle's histories."""
_BLOCK = 2048
"""Number of transactions that are processed at a time."""
_FIELDS = 3
"""The fields of a micro-operation: word, key and argument."""


@dataclass(frozen=True, slots=True)
class Transactions:
    """Transactions, one row each, in the order of invocation.

    Attributes:
        begin: position of the invocation in the history; -1, which is before everything, if there is none.
        end: position of the completion with ``ok``, `NONE` otherwise.
        completion: position of the completion, `NONE` if there is none.
        outcome: a `SendOutcome`; a transaction without completion is `SendOutcome.INFO`.
        process: code of the process.
        values: the value of each transaction: of its completion if that is ``ok``, otherwise of its
            invocation.
        malformed: impossible parts of their order, one sentence each.
    """

    begin: Integers
    end: Integers
    completion: Integers
    outcome: Integers
    process: Integers
    values: list[Any]
    malformed: tuple[str, ...]

    def positions(self, number: int) -> tuple[int, ...]:
        """Positions of a transaction's invocation and completion in the history, if they exist."""
        both = (int(self.begin[number]), int(self.completion[number]))
        return tuple(position for position in both if position != NONE)


@dataclass(frozen=True, slots=True)
class MicroOperations:
    """The micro-operations of transactions: all of committed ones, and the writes of the others.

    Attributes:
        transaction: shape (n,), row of the transaction.
        write: shape (n,), whether it writes.
        key: shape (n,), code of the key.
        keys: keys by code.
        arguments: what was written or read, n values.
    """

    transaction: Integers
    write: Booleans
    key: Integers
    keys: tuple[object, ...]
    arguments: list[Any]


class UnreadableError(ValueError):
    """A transaction has a shape that its checker does not read; the message has the position."""


def transactions_of(history: History, f: Iterable[str] = ("txn",)) -> Transactions:
    """Pair the operations with these names.

    Python loops only over processes and malformed operations.

    Completions without an invocation, and invocations before the last one of their process was complete, are
    listed in `Transactions.malformed`.  Such a completion counts as started before the history, such an
    invocation as never complete.
    """
    chosen, position = _chosen(history.operations, frozenset(f))
    types = _types_of(chosen)
    process = coded(list(map(attrgetter("process"), chosen))).codes
    order = np.argsort(process, kind="stable")
    begins = types[order] == _INVOKE
    same = process[order][1:] == process[order][:-1]
    paired = begins[:-1] & ~begins[1:] & same
    follows = np.zeros(len(order), dtype=np.bool_)
    follows[1:] = paired
    open_twice = order[:-1][begins[:-1] & begins[1:] & same]
    answer = np.full(len(order), NONE, dtype=np.int64)
    answer[order[:-1][paired]] = order[1:][paired]
    alone = order[~begins & ~follows]
    rows = np.sort(np.concatenate((np.flatnonzero(types == _INVOKE), alone)))
    return _transactions(chosen, position, types, process, (rows, answer, alone, open_twice))


def _chosen(operations: Sequence[Operation], names: frozenset[str]) -> tuple[Sequence[Operation], Integers]:
    """Operations with these names, and their positions."""
    found = list(map(attrgetter("f"), operations))
    if set(found) <= names:
        return operations, np.arange(len(operations))
    wanted = list(map(names.__contains__, found))
    return list(compress(operations, wanted)), np.flatnonzero(np.array(wanted))


def _transactions(
    chosen: Sequence[Operation],
    position: Integers,
    types: Integers,
    process: Integers,
    pairs: tuple[Integers, Integers, Integers, Integers],
) -> Transactions:
    rows, answer, alone, open_twice = pairs
    begun = types[rows] == _INVOKE
    completion = np.where(begun, answer[rows], rows)
    outcome = np.where(completion == NONE, SendOutcome.INFO, types[completion])
    ok = outcome == SendOutcome.OK
    source = np.where(ok, completion, rows)
    values = list(map(attrgetter("value"), map(chosen.__getitem__, source.tolist())))
    return Transactions(
        begin=np.where(begun, position[rows], NONE),
        end=np.where(ok, position[completion], NONE),
        completion=np.where(completion == NONE, NONE, position[completion]),
        outcome=outcome,
        process=process[rows],
        values=values,
        malformed=tuple(_misfits(position[alone], position[open_twice])),
    )


def _misfits(alone: Integers, open_twice: Integers) -> Iterable[str]:
    if len(alone):
        yield f"{len(alone)} operations complete without beginning, first: operation {int(alone.min())}"
    if len(open_twice):
        yield (
            f"{len(open_twice)} processes begin an operation before the previous one is complete, "
            f"first: after operation {int(open_twice.min())}"
        )


def _types_of(operations: Sequence[Operation]) -> Integers:
    numbers = {id(kind): number for number, kind in enumerate(_TYPES)}
    types = map(id, map(attrgetter("type"), operations))
    return np.fromiter(map(numbers.__getitem__, types), np.int64, len(operations))


def names_of_transactions(history: History) -> frozenset[str]:
    """Names of operations whose value is a list of micro-operations; ``txn`` is always one."""
    names = {"txn"}
    if set(map(attrgetter("f"), history.operations)) <= names:
        return frozenset(names)
    for operation in history.operations:
        if operation.f not in names and has_micro_operations(operation.value):
            names.add(operation.f)
    return frozenset(names)


def has_micro_operations(value: object) -> bool:
    """Whether a value is a list of at least one of Elle's micro-operations."""
    return isinstance(value, list) and bool(value) and all(map(_is_micro_operation, value))


def _is_micro_operation(value: object) -> bool:
    if not isinstance(value, list | tuple) or len(value) != _FIELDS:
        return False
    return isinstance(value[0], str) and value[0] in WORDS


def micro_operations_of(transactions: Transactions, write: str) -> MicroOperations:
    """Convert the micro-operations of all transactions to columns.

    Args:
        transactions: the transactions.
        write: the word of a write: ``append`` or ``w``; ``r`` is the read.

    Raises:
        UnreadableError: a transaction has another shape.
    """
    values = transactions.values
    if not set(map(type, values)) <= {list}:
        raise _unreadable(transactions, write, 0)
    sizes = np.fromiter(map(len, values), np.int64, len(values))
    writes, keys, arguments = _columns(transactions, write)
    of = np.repeat(np.arange(len(values)), sizes)
    counts = writes | (transactions.outcome[of] == SendOutcome.OK)
    if not counts.all():
        chosen = counts.tolist()
        of, writes = of[counts], writes[counts]
        keys, arguments = list(compress(keys, chosen)), list(compress(arguments, chosen))
    names = coded(keys)
    return MicroOperations(of, writes, names.codes, names.names, arguments)


class _Columns(NamedTuple):
    """Whether each micro-operation writes, its key and its argument."""

    writes: Booleans
    keys: list[object]
    arguments: list[Any]


def _columns(transactions: Transactions, write: str) -> _Columns:
    writes: list[Booleans] = [np.zeros(0, dtype=np.bool_)]
    keys: list[object] = []
    arguments: list[Any] = []
    # In blocks, so that the data of one pass is still in the cache when the next one needs it.
    for begin in range(0, len(transactions.values), _BLOCK):
        flat = list(chain.from_iterable(transactions.values[begin : begin + _BLOCK]))
        shaped = set(map(type, flat)) <= {list, tuple} and set(map(len, flat)) <= {_FIELDS}
        fields = list(chain.from_iterable(flat)) if shaped else []
        words = fields[::_FIELDS]
        if not shaped or not _only(words, {write, "r"}):
            raise _unreadable(transactions, write, begin)
        writes.append(np.fromiter(map(write.__eq__, words), np.bool_, len(words)))
        keys += fields[1::_FIELDS]
        arguments += fields[2::_FIELDS]
    return _Columns(np.concatenate(writes), keys, arguments)


def _unreadable(transactions: Transactions, write: str, begin: int) -> UnreadableError:
    """The error for the first transaction, from a row on, that has another shape."""
    rows = range(begin, len(transactions.values))
    row = next(row for row in rows if not _is_readable(transactions.values[row], write))
    end = int(transactions.end[row])
    position = int(transactions.begin[row]) if end == NONE else end
    return UnreadableError(
        f"operation {position} is not a list of micro-operations, each {write} or r with key and "
        f"value: {repr(transactions.values[row])[:200]}"
    )


def _is_readable(value: object, write: str) -> bool:
    words = {write, "r"}
    return isinstance(value, list) and all(_is_micro_operation(each) and each[0] in words for each in value)


def _only(words: Iterable[object], wanted: set[str]) -> bool:
    try:
        return set(words) <= wanted
    except TypeError:
        return False
