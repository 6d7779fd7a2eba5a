"""Collects rows of a history's columns: codes of names and values, records sent and returned."""

from collections.abc import Hashable, Sequence
from itertools import chain, repeat
from typing import TypeVar

import msgspec
import numpy as np

from checkers.columns.tables import (
    NEVER,
    NONE,
    Booleans,
    Calls,
    FinalReads,
    Integers,
    PartitionName,
    Reads,
    SendOutcome,
    Sends,
)
from checkers.history.operations import OK, Operation

_Name = TypeVar("_Name", bound=Hashable)


class Codes(dict[_Name, int]):
    """Gives names the numbers 0, 1, 2 … in the order of their appearance."""

    def __missing__(self, name: _Name) -> int:
        code = self[name] = len(self)
        return code


class PartitionCodes(dict[int, int]):
    """Codes of one topic's partitions, assigned from the codes of all partitions."""

    def __init__(self, topic: str, codes: Codes[PartitionName]) -> None:
        super().__init__()
        self._topic = topic
        self._codes = codes

    def __missing__(self, partition: int) -> int:
        code = self[partition] = self._codes[PartitionName(self._topic, partition)]
        return code


class ValueCodes:
    """Converts JSON values to integers; equal values have equal codes, and 1, 1.0 and true differ."""

    def __init__(self) -> None:
        self._codes: Codes[bytes] = Codes()
        self.others: list[object] = []

    def of(self, values: Sequence[object]) -> Integers:
        """Codes of values; an integer from 0 is its own code."""
        plain = _plain(values)
        if plain is not None:
            return plain
        return np.fromiter(map(self._code, values), dtype=np.int64, count=len(values))

    def _code(self, value: object) -> int:
        if type(value) is int and 0 <= value < NEVER:
            return value
        code = self._codes[msgspec.json.encode(value, order="deterministic")]
        if code == len(self.others):
            self.others.append(value)
        return -1 - code


class SendRows:
    """Rows of sent records; a completion fills in the rows that its invocation added."""

    def __init__(self) -> None:
        self._rows = 0
        self._partition: list[int] = []
        self._value: list[object] = []
        self._listed: list[tuple[int, int]] = []
        self._runs: list[tuple[int, int, int, int]] = []
        self._invoked: list[tuple[int, int, int, int, int]] = []
        self._completed: list[tuple[int, int, int, int]] = []
        self._offset: list[int] = []
        self._outcome: list[int] = []
        self._answered: list[tuple[int, int]] = []
        self._stretches: list[tuple[int, int, int]] = []
        self._outstanding: dict[int | str, tuple[int, int]] = {}

    def invoke(
        self,
        operation: Operation,
        process: int,
        partitions: list[int],
        values: Sequence[object],
        *,
        transactional: bool = False,
    ) -> None:
        """Add a row for each record of an invocation."""
        self._listed.append((self._rows, len(values)))
        self._partition.extend(partitions)
        self._value.extend(values)
        self._begin(operation, process, len(values), transactional=transactional)

    def invoke_run(self, operation: Operation, process: int, partition: int) -> None:
        """Add rows for consecutive values that are sent to one partition."""
        first, count = operation.value["first"], operation.value["count"]
        self._runs.append((self._rows, count, partition, first))
        self._begin(operation, process, count, transactional=False)

    def _begin(self, operation: Operation, process: int, count: int, *, transactional: bool) -> None:
        self._outstanding[operation.process] = (self._rows, count)
        self._invoked.append((count, process, operation.time_ns, operation.index, int(transactional)))
        self._rows += count

    def complete(self, operation: Operation, offsets: list[int], outcomes: list[int]) -> None:
        """Store the outcome of each record."""
        self._offset.extend(offsets)
        self._outcome.extend(outcomes)
        self._answered.append(self._complete(operation))

    def complete_alike(self, operation: Operation, outcome: int) -> None:
        """Store the same outcome for all records, without offsets."""
        row, count = self._complete(operation)
        self._offset.extend(repeat(NONE, count))
        self._outcome.extend(repeat(outcome, count))
        self._answered.append((row, count))

    def complete_run(self, operation: Operation) -> None:
        """Store the offsets of a run's records, which are all acknowledged."""
        row, _ = self._complete(operation)
        for offset, count in operation.value["offsets"]:
            self._stretches.append((row, count, offset))
            row += count

    def _complete(self, operation: Operation) -> tuple[int, int]:
        row, count = self._outstanding.pop(operation.process)
        self._completed.append((row, count, operation.time_ns, operation.index))
        return row, count

    def sends(self, codes: ValueCodes) -> Sends:
        """Return all rows as columns."""
        size = self._rows
        count, process, invoked_ns, invoke_op, transactional = transposed(self._invoked, 5)
        first, filled, completed_ns, complete_op = transposed(self._completed, 4)
        rows = _ranges(first, filled)
        offset, outcome = self._answers()
        partition, value = self._records(codes)
        return Sends(
            partition=partition,
            value=value,
            offset=offset,
            outcome=outcome,
            process=np.repeat(process, count),
            invoked_ns=np.repeat(invoked_ns, count),
            completed_ns=_scattered(size, NEVER, rows, np.repeat(completed_ns, filled)),
            invoke_op=np.repeat(invoke_op, count),
            complete_op=_scattered(size, NONE, rows, np.repeat(complete_op, filled)),
            transactional=np.repeat(transactional.astype(np.bool_), count),
        )

    def _records(self, codes: ValueCodes) -> tuple[Integers, Integers]:
        """Partition and value of each row."""
        partition, value = _integers(self._partition), codes.of(self._value)
        if not self._runs:
            return partition, value
        rows = _ranges(*transposed(self._listed, 2))
        first, count, run_partition, run_value = transposed(self._runs, 4)
        of_runs = _ranges(first, count)
        partitions = _scattered(self._rows, NONE, rows, partition)
        values = _scattered(self._rows, NONE, rows, value)
        partitions[of_runs] = np.repeat(run_partition, count)
        values[of_runs] = _ranges(run_value, count)
        return partitions, values

    def _answers(self) -> tuple[Integers, Integers]:
        """Offset and outcome of each row."""
        rows = _ranges(*transposed(self._answered, 2))
        offset = _scattered(self._rows, NONE, rows, _integers(self._offset))
        outcome = _scattered(self._rows, SendOutcome.INFO, rows, _integers(self._outcome))
        first, count, run_offset = transposed(self._stretches, 3)
        of_runs = _ranges(first, count)
        offset[of_runs] = _ranges(run_offset, count)
        outcome[of_runs] = SendOutcome.OK
        return offset, outcome


class ReadRows:
    """Rows of returned records, of the calls that returned them, and of final reads."""

    def __init__(self) -> None:
        self.value: list[object] = []
        self._offset: list[int] = []
        self._chunks: list[tuple[int, int, int]] = []
        self._calls: list[tuple[int, int, int, int, int, int, int]] = []
        self._final: list[tuple[int, int, int, int, int, int, int]] = []

    def call(self, operation: Operation, process: int, reader: int, assignment: int, invoked_ns: int) -> None:
        """Add a call that returned."""
        final = int(operation.f == "final-read")
        self._calls.append(
            (operation.index, process, reader, assignment, final, invoked_ns, operation.time_ns)
        )

    def records(self, records: Sequence[tuple[int, list[int], list[object]]], codes: PartitionCodes) -> None:
        """Add a row for each record that the last call returned."""
        call = len(self._calls) - 1
        for partition, offsets, values in records:
            self._chunks.append((codes[partition], len(offsets), call))
            self._offset.extend(offsets)
            self.value.extend(values)

    def coverage(self, operation: Operation, codes: PartitionCodes, listed_ns: int) -> None:
        """Store how far the last call, a final read, read."""
        value = operation.value
        whole = operation.type is OK and value["position"] >= value["end"]
        self._final.append(
            (
                len(self._calls) - 1,
                codes[value["partition"]],
                value["start"],
                value["end"],
                value["position"],
                listed_ns,
                int(whole),
            )
        )

    def reads(self, values: Integers) -> Reads:
        """Return all rows as columns."""
        partition, count, call = transposed(self._chunks, 3)
        return Reads(
            partition=np.repeat(partition, count),
            offset=_integers(self._offset),
            value=values,
            call=np.repeat(call, count),
        )

    def calls(self) -> Calls:
        """Return all calls as columns."""
        op, process, reader, assignment, final, invoked_ns, completed_ns = transposed(self._calls, 7)
        return Calls(op, process, reader, assignment, _booleans(final), invoked_ns, completed_ns)

    def final_reads(self) -> FinalReads:
        """Return the ranges that final reads covered, as columns."""
        call, partition, start, end, position, listed_ns, whole = transposed(self._final, 7)
        return FinalReads(call, partition, start, end, position, listed_ns, _booleans(whole))


def _plain(values: Sequence[object]) -> Integers | None:
    """The values, if all are integers from 0; None otherwise."""
    if not set(map(type, values)) <= {int}:
        return None
    try:
        found = _integers(values)
    except OverflowError:
        return None
    return found if found.min(initial=0) >= 0 and found.max(initial=0) < NEVER else None


def _integers(values: Sequence[object]) -> Integers:
    return np.array(values, dtype=np.int64)


def _booleans(values: Integers) -> Booleans:
    return values.astype(np.bool_)


def transposed(rows: Sequence[Sequence[int]], width: int) -> list[Integers]:
    """Columns of rows of integers, which have equal widths."""
    flat = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=len(rows) * width)
    return list(np.ascontiguousarray(flat.reshape(-1, width).T))


def _ranges(first: Integers, count: Integers) -> Integers:
    """The `count` integers from each `first` on, one range after the other."""
    before = np.cumsum(count) - count
    return np.repeat(first - before, count) + np.arange(int(count.sum()))


def _scattered(size: int, fill: int, rows: Integers, values: Integers) -> Integers:
    column = np.full(size, fill, dtype=np.int64)
    column[rows] = values
    return column
