"""Loads copies as columns: their inputs, transactions and output partitions.

A *place* is a partition that a group reads: group, topic, partition.  An *input* is a place and an offset.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec
import numpy as np

from checkers.columns.rows import Codes
from checkers.columns.tables import NONE, Integers
from checkers.history.commits import GroupFound
from checkers.history.fields import LARGEST
from checkers.history.operations import INVOKE, OK, Decoded, History, Operation, OperationType
from checkers.history.polls import FinalReadLimits, Isolation
from checkers.history.transactions import sends_of


class InputPartition(NamedTuple):
    """A partition that a group reads; the group is empty if a transaction committed no offsets."""

    group: str
    topic: str
    partition: int


class Attempts(NamedTuple):
    """Attempts of transactions to copy records, one row each, in the order of their invocations.

    Attributes:
        value: the copy's value.
        place: code of the place that the input was read from.
        offset: the input's offset.
        transaction: row of `Copying.transactions`.
    """

    value: Integers
    place: Integers
    offset: Integers
    transaction: Integers


class Copies(NamedTuple):
    """Records of output partitions that read_committed readers received at the end, once each.

    Attributes:
        value: the record's value.
        partition: code of the record's partition.
        offset: the record's offset.
        read: position in the history of a final read that returned it.
    """

    value: Integers
    partition: Integers
    offset: Integers
    read: Integers


@dataclass(slots=True)
class CopyTransaction:
    """One transaction that copies: positions of its operations in the history, and its outcome.

    The outcome is None while the transaction is open.
    """

    begin: int
    end: int = NONE
    outcome: OperationType | None = None

    @property
    def positions(self) -> tuple[int, ...]:
        """Positions of the transaction's invocation, and of its completion if there is one."""
        return (self.begin,) if self.end == NONE else (self.begin, self.end)


@dataclass(frozen=True, slots=True)
class Copying:
    """All records of a history about copies.

    Attributes:
        transactions: the transactions that copy.
        attempts: attempts to copy records.
        copies: copies that exist at the end.
        places: inputs of the transactions (group and partition), by code.
        partitions: topic and number of each output partition, by code.
        inputs: code of the place and offset of each record that a final read found at a place; shape (2, n).
        unread: topic and number of each input and output partition that no read_committed final read read
            completely, also if an open transaction hides records there.
        committed: per place code, the group's offset at the end, and the index of the operation that reports
            it.
        acknowledged: per place code, the same for the largest offset whose commit was acknowledged.
    """

    transactions: list[CopyTransaction]
    attempts: Attempts
    copies: Copies
    places: tuple[InputPartition, ...]
    partitions: tuple[tuple[str, int], ...]
    inputs: Integers
    unread: tuple[tuple[str, int], ...]
    committed: dict[int, tuple[int, int]]
    acknowledged: dict[int, tuple[int, int]]


def copying_of(history: History) -> Copying:
    """Load a history.

    Args:
        history: as `checkers.history.reading.read_history` returns it: its shapes are not checked again here.
    """
    loader = _Loader()
    takers = {"txn": loader.txn, "final-read": loader.final_read, "committed-offsets": loader.offsets}
    for operation in history.operations:
        take = takers.get(operation.f)
        if take is not None:
            take(operation)
    return loader.loaded()


@dataclass
class _Loader:
    """Collects the operations of a history in their order."""

    transactions: list[CopyTransaction] = field(default_factory=list)
    open: dict[int | str, int] = field(default_factory=dict)
    places: Codes[InputPartition] = field(default_factory=Codes)
    outputs: dict[tuple[str, int], None] = field(default_factory=dict)
    rows: list[tuple[int, int, int, int]] = field(default_factory=list)
    reads: dict[tuple[str, int], list[Decoded[FinalReadLimits]]] = field(default_factory=dict)
    ends: dict[tuple[str, int], int] = field(default_factory=dict)
    acknowledged: dict[int, tuple[int, int]] = field(default_factory=dict)
    group_offsets: list[Decoded[GroupFound]] = field(default_factory=list)

    def txn(self, operation: Operation) -> None:
        """Add a transaction's invocation or completion."""
        if operation.type is INVOKE:
            if operation.value.get("consumed"):
                self._begin(operation)
        elif operation.process in self.open:
            self._end(operation, self.open.pop(operation.process))

    def final_read(self, operation: Operation) -> None:
        """Add a final read that reached the end of what its isolation level can read."""
        if operation.type is not OK:
            return
        limits = msgspec.convert(operation.value, FinalReadLimits)
        where = (operation.key, limits.partition)
        self.ends[where] = max(self.ends.get(where, 0), limits.end or 0)
        if limits.isolation is Isolation.READ_COMMITTED:
            self.reads.setdefault(where, []).append(Decoded(operation, limits))

    def offsets(self, operation: Operation) -> None:
        """Add a group's offsets at the end."""
        if operation.type is OK:
            self.group_offsets.append(Decoded(operation, msgspec.convert(operation.value, GroupFound)))

    def _begin(self, operation: Operation) -> None:
        row = len(self.transactions)
        self.open[operation.process] = row
        self.transactions.append(CopyTransaction(operation.index))
        group = next((mop[1] for mop in operation.value["mops"] if mop[0] == "offsets"), "")
        sources = [
            (self.places[InputPartition(group, topic, partition)], offset)
            for topic, partition, offsets, _ in operation.value["consumed"]
            for offset in offsets
        ]
        for (_, topic, partition, value, *_), (place, offset) in zip(
            sends_of(operation), sources, strict=True
        ):
            self.outputs[topic, partition] = None
            if _is_own(value):
                self.rows.append((value, place, offset, row))

    def _end(self, operation: Operation, row: int) -> None:
        transaction = self.transactions[row]
        transaction.end, transaction.outcome = operation.index, operation.type
        if operation.type is not OK:
            return
        for _, group, topic, offsets in (mop for mop in operation.value["mops"] if mop[0] == "offsets"):
            for partition, offset in offsets:
                place = self.places[InputPartition(group, topic, partition)]
                known = self.acknowledged.get(place, (NONE, NONE))
                self.acknowledged[place] = max(known, (offset, operation.index))

    def loaded(self) -> Copying:
        """Return everything that was collected."""
        places, outputs = tuple(self.places), tuple(self.outputs)
        wanted = dict.fromkeys([*((place.topic, place.partition) for place in places), *outputs])
        return Copying(
            transactions=self.transactions,
            attempts=Attempts(*_table(self.rows, 4)),
            copies=self._copies(outputs),
            places=places,
            partitions=outputs,
            inputs=self._inputs(places),
            unread=tuple(where for where in wanted if not self._is_whole(where)),
            committed=self._committed(places),
            acknowledged=self.acknowledged,
        )

    def _is_whole(self, where: tuple[str, int]) -> bool:
        return any((read.value.end or 0) >= self.ends[where] for read in self.reads.get(where, ()))

    def _copies(self, outputs: tuple[tuple[str, int], ...]) -> Copies:
        tables = [
            _records(operation, code)
            for code, where in enumerate(outputs)
            for operation, _ in self.reads.get(where, ())
        ]
        table = np.concatenate([np.empty((4, 0), dtype=np.int64), *tables], axis=1)
        _, first = np.unique(table[:3], axis=1, return_index=True)
        return Copies(*table[:, first])

    def _inputs(self, places: tuple[InputPartition, ...]) -> Integers:
        tables = [
            _records(operation, code)[[1, 2]]
            for code, place in enumerate(places)
            for operation, _ in self.reads.get((place.topic, place.partition), ())
        ]
        return np.unique(np.concatenate([np.empty((2, 0), dtype=np.int64), *tables], axis=1), axis=1)

    def _committed(self, places: tuple[InputPartition, ...]) -> dict[int, tuple[int, int]]:
        codes = {place: code for code, place in enumerate(places)}
        found: dict[int, tuple[int, int]] = {}
        for operation, answer in self.group_offsets:
            for partition, offset in answer.offsets:
                code = codes.get(InputPartition(operation.key, answer.topic, partition))
                if code is not None:
                    found[code] = (0 if offset is None else offset, operation.index)
        return found


def _is_own(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST


def _records(operation: Operation, code: int) -> Integers:
    """Value, partition code, offset and operation position of each record; shape (4, records)."""
    rows = [
        (value, code, offset, operation.index)
        for _, offsets, values in operation.value["records"]
        for offset, value in zip(offsets, values, strict=True)
        if _is_own(value)
    ]
    return _table(rows, 4)


def _table(rows: Sequence[tuple[int, ...]], width: int) -> Integers:
    return np.array(rows, dtype=np.int64).reshape(-1, width).T
