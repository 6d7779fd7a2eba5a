"""Times of sends as columns: acknowledged records with topic, partition and time, and starts of sends."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from checkers.history.operations import INVOKE, OK, History, Operation, once
from checkers.history.sends import count_of, is_answered
from checkers.history.transactions import sends_of

Integers = npt.NDArray[np.int64]


class AcknowledgedSends(NamedTuple):
    """Records whose send completed with ``ok``; arrays of one shape, one element per record.

    Attributes:
        topics: names of the topics.
        topic: index of the record's topic in `topics`.
        partition: the record's partition.
        time_ns: when its send completed; ascending.
    """

    topics: tuple[str, ...]
    topic: Integers
    partition: Integers
    time_ns: Integers


@once
def acknowledged(history: History) -> AcknowledgedSends:
    """All acknowledged records, in order of completion.

    Python loops over operations, never over records.

    In a batch that ended with ``fail`` or ``info``, only acknowledged records count.  In a transaction, all
    records count if it is known to be committed.
    """
    topics: dict[str, int] = {}
    listed, alike = _Listed(topics), _Alike(topics)
    for operation in history.operations:
        if operation.type is INVOKE or operation.value is None:
            continue
        if operation.f == "txn" and operation.type is OK:
            for mop in sends_of(operation):
                alike.take(operation, mop[1], mop[2], 1)
        elif operation.f == "send" and is_answered(operation.value):
            if isinstance(operation.value, dict):
                alike.take(operation, operation.key, operation.value["partition"], operation.value["count"])
            else:
                listed.take(operation)
    columns = np.concatenate((listed.columns(), alike.columns()), axis=1)
    _, topic, partition, time_ns = columns[:, np.argsort(columns[0], kind="stable")]
    return AcknowledgedSends(tuple(topics), topic, partition, time_ns)


def invoked_ns(history: History) -> Integers:
    """When the send of each record began, acknowledged or not; ascending, one element for each record."""
    begun = [o for o in history.operations if o.f in {"send", "txn"} and o.type is INVOKE]
    return np.repeat(_integers(operation.time_ns for operation in begun), _integers(map(_size_of, begun)))


def calls_of(history: History) -> tuple[Integers, Integers]:
    """When the send of each record, or a write to a register, began, and when each ended; both ascending.

    Calls that never ended have no end.  Whether a call was acknowledged does not matter.
    """
    begun: dict[int | str, int] = {}
    begins: list[tuple[int, int]] = []
    ends: list[tuple[int, int]] = []
    for operation in history.operations:
        if operation.f not in {"send", "txn", "write"}:
            continue
        if operation.type is INVOKE:
            size = 1 if operation.f == "write" else _size_of(operation)
            begun[operation.process] = size
            begins.append((operation.time_ns, size))
        else:
            ends.append((operation.time_ns, begun.pop(operation.process, 0)))
    return _records(begins), _records(ends)


def _records(calls: list[tuple[int, int]]) -> Integers:
    """The time of each call, repeated for each of its records."""
    times, sizes = _table(calls, 2)
    return np.sort(np.repeat(times, sizes))


def _size_of(invoked: Operation) -> int:
    return len(sends_of(invoked)) if invoked.f == "txn" else count_of(invoked.value)


class _Listed:
    """Sends whose completions list each record."""

    def __init__(self, topics: dict[str, int]) -> None:
        self._topics = topics
        self._operations: list[tuple[int, int, int, int]] = []
        self._partition: list[int] = []

    def take(self, operation: Operation) -> None:
        code = self._topics.setdefault(operation.key, len(self._topics))
        partitions = [entry[0] for entry in operation.value if entry[3] == "ok"]
        self._partition += partitions
        self._operations.append((operation.index, code, operation.time_ns, len(partitions)))

    def columns(self) -> Integers:
        """Position, topic, partition and time of each acknowledged record, shape (4, records)."""
        *per_operation, count = _table(self._operations, 4)
        position, topic, time_ns = np.repeat(np.stack(per_operation), count, axis=1)
        return np.stack((position, topic, np.array(self._partition, np.int64), time_ns))


class _Alike:
    """Records that were acknowledged together: runs, and records of transactions."""

    def __init__(self, topics: dict[str, int]) -> None:
        self._topics = topics
        self._rows: list[tuple[int, int, int, int, int]] = []

    def take(self, operation: Operation, topic: str, partition: int, count: int) -> None:
        code = self._topics.setdefault(topic, len(self._topics))
        self._rows.append((operation.index, code, partition, operation.time_ns, count))

    def columns(self) -> Integers:
        """Position, topic, partition and time of each record, shape (4, records)."""
        *columns, count = _table(self._rows, 5)
        return np.repeat(np.stack(columns), count, axis=1)


def _table(rows: Sequence[tuple[int, ...]], width: int) -> Integers:
    """Rows of integers, which have equal widths, as columns; shape (width, rows)."""
    return _integers(chain.from_iterable(rows)).reshape(-1, width).T


def _integers(values: Iterable[int]) -> Integers:
    return np.fromiter(values, np.int64)
