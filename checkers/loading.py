"""Loads the columns of a history: one pass over its operations, one array per column."""

from collections.abc import Callable, Hashable
from itertools import chain, repeat
from typing import Any, TypeVar

import msgspec
import numpy as np

from checkers.columns import (
    NEVER,
    NONE,
    Assigns,
    Booleans,
    Calls,
    Columns,
    FinalReads,
    Integers,
    Outcome,
    PartitionName,
    ReaderName,
    Reads,
    Sends,
)
from checkers.history import History, Operation, OperationType
from checkers.shapes import Setup, is_answered

_OUTCOMES = {"ok": Outcome.OK, "fail": Outcome.FAIL, "info": Outcome.INFO}
_Name = TypeVar("_Name", bound=Hashable)


def columns_of(history: History) -> Columns:
    """Load the columns of a history.

    Args:
        history: as `checkers.reading.read_history` returns it: its shapes are not checked again here.
    """
    loader = _Loader()
    for operation in history.operations:
        take = loader.takers.get(operation.f)
        if take is not None:
            take(operation)
    return loader.columns()


class _Codes(dict[_Name, int]):
    """Gives names the numbers 0, 1, 2 … in the order of their appearance."""

    def __missing__(self, name: _Name) -> int:
        code = self[name] = len(self)
        return code


class _PartitionCodes(dict[int, int]):
    """Codes of one topic's partitions, handed out from the codes of all."""

    def __init__(self, topic: str, codes: _Codes[PartitionName]) -> None:
        super().__init__()
        self._topic = topic
        self._codes = codes

    def __missing__(self, partition: int) -> int:
        code = self[partition] = self._codes[PartitionName(self._topic, partition)]
        return code


class _ValueCodes:
    """Turns any JSON values to integers; equal values have equal codes, 1 and 1.0 and true differ."""

    def __init__(self) -> None:
        self._codes: _Codes[bytes] = _Codes()
        self.others: list[Any] = []

    def of(self, values: list[Any]) -> Integers:
        """Codes of values: integers from 0 stand for themselves."""
        if set(map(type, values)) <= {int} and 0 <= min(values, default=0) <= max(values, default=0) < NEVER:
            return np.array(values, dtype=np.int64)
        return np.fromiter(map(self._code, values), dtype=np.int64, count=len(values))

    def _code(self, value: Any) -> int:
        if type(value) is int and 0 <= value < NEVER:
            return value
        code = self._codes[msgspec.json.encode(value, order="deterministic")]
        if code == len(self.others):
            self.others.append(value)
        return -1 - code


class _SendRows:
    """Rows of records sent; a completion fills in the rows that its invocation made."""

    def __init__(self) -> None:
        self.partition: list[int] = []
        self.value: list[Any] = []
        self._invoked: list[tuple[int, int, int, int]] = []
        self._completed: list[tuple[int, int, int, int]] = []
        self._offset: list[int] = []
        self._outcome: list[int] = []
        self._outstanding: dict[int | str, tuple[int, int]] = {}

    def invoke(self, operation: Operation, process: int, codes: _PartitionCodes) -> None:
        """Make a row for each record of an invocation."""
        self._outstanding[operation.process] = (len(self.value), len(operation.value))
        self._invoked.append((len(operation.value), process, operation.time_ns, operation.index))
        self.partition.extend(codes[entry[0]] for entry in operation.value)
        self.value.extend(entry[1] for entry in operation.value)

    def complete(self, operation: Operation) -> None:
        """Note what became of each record; what is not told became what the operation became."""
        row, count = self._outstanding.pop(operation.process)
        if is_answered(operation.value):
            self._offset.extend(NONE if entry[2] is None else entry[2] for entry in operation.value)
            self._outcome.extend(_OUTCOMES[entry[3]] for entry in operation.value)
        else:
            self._offset.extend(repeat(NONE, count))
            self._outcome.extend(repeat(_OUTCOMES[operation.type], count))
        self._completed.append((row, count, operation.time_ns, operation.index))

    def sends(self, values: Integers) -> Sends:
        """All rows as columns."""
        count, process, invoked_ns, invoke_op = _transposed(self._invoked, 4)
        first, filled, completed_ns, complete_op = _transposed(self._completed, 4)
        rows = _ranges(first, filled)
        return Sends(
            partition=_integers(self.partition),
            value=values,
            offset=_scattered(len(values), NONE, rows, _integers(self._offset)),
            outcome=_scattered(len(values), Outcome.INFO, rows, _integers(self._outcome)),
            process=np.repeat(process, count),
            invoked_ns=np.repeat(invoked_ns, count),
            completed_ns=_scattered(len(values), NEVER, rows, np.repeat(completed_ns, filled)),
            invoke_op=np.repeat(invoke_op, count),
            complete_op=_scattered(len(values), NONE, rows, np.repeat(complete_op, filled)),
        )


class _ReadRows:
    """Rows of records returned, of the calls that returned them, and of what final reads covered."""

    def __init__(self) -> None:
        self.value: list[Any] = []
        self._offset: list[int] = []
        self._chunks: list[tuple[int, int, int]] = []
        self._calls: list[tuple[int, int, int, int, int, int, int]] = []
        self._final: list[tuple[int, int, int, int, int, int, int]] = []

    def call(self, operation: Operation, process: int, reader: int, assignment: int, invoked_ns: int) -> None:
        """Note a call that returned."""
        final = int(operation.f == "final-read")
        self._calls.append(
            (operation.index, process, reader, assignment, final, invoked_ns, operation.time_ns)
        )

    def records(self, records: list[Any], codes: _PartitionCodes) -> None:
        """Make a row for each record that the last call returned."""
        call = len(self._calls) - 1
        for partition, offsets, values in records:
            self._chunks.append((codes[partition], len(offsets), call))
            self._offset.extend(offsets)
            self.value.extend(values)

    def coverage(self, operation: Operation, codes: _PartitionCodes, listed_ns: int) -> None:
        """Note how far the last call, a final read, came."""
        value = operation.value
        whole = operation.type is OperationType.OK and value["position"] >= value["end"]
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
        """All rows as columns."""
        partition, count, call = _transposed(self._chunks, 3)
        return Reads(
            partition=np.repeat(partition, count),
            offset=_integers(self._offset),
            value=values,
            call=np.repeat(call, count),
        )

    def calls(self) -> Calls:
        """All calls as columns."""
        op, process, reader, assignment, final, invoked_ns, completed_ns = _transposed(self._calls, 7)
        return Calls(op, process, reader, assignment, _booleans(final), invoked_ns, completed_ns)

    def final_reads(self) -> FinalReads:
        """What final reads covered, as columns."""
        call, partition, start, end, position, listed_ns, whole = _transposed(self._final, 7)
        return FinalReads(call, partition, start, end, position, listed_ns, _booleans(whole))


class _Loader:
    """Takes the operations of a history in their order."""

    def __init__(self) -> None:
        self.takers: dict[str, Callable[[Operation], None]] = {
            "setup": self._setup,
            "phase": self._phase,
            "send": self._send,
            "assign": self._assign,
            "poll": self._poll,
            "final-read": self._final_read,
        }
        self._partitions: _Codes[PartitionName] = _Codes()
        self._topics: dict[str, _PartitionCodes] = {}
        self._readers: _Codes[ReaderName] = _Codes()
        self._processes: _Codes[int | str] = _Codes()
        self._assignment: dict[int | str, int] = {}
        self._invoked_ns: dict[int | str, int] = {}
        self._final_readers: set[int] = set()
        self._sends = _SendRows()
        self._reads = _ReadRows()
        self._assigns: list[tuple[int, int, int, int]] = []
        self._assignments = 0
        self._phases: dict[str, int] = {}
        self._final_began_ns = NEVER
        self._workload = Setup().workload

    def columns(self) -> Columns:
        """Everything that was taken, as columns."""
        codes = _ValueCodes()
        return Columns(
            sends=self._sends.sends(codes.of(self._sends.value)),
            reads=self._reads.reads(codes.of(self._reads.value)),
            others=tuple(codes.others),
            partitions=tuple(self._partitions),
            readers=tuple(self._readers),
            calls=self._reads.calls(),
            assigns=Assigns(*_transposed(self._assigns, 4)),
            final_reads=self._reads.final_reads(),
            final_readers=tuple(sorted(self._final_readers)),
            phases=self._phases,
            acks=str(self._workload.acks),
            idempotent=self._workload.idempotent,
        )

    def _codes_of(self, topic: str) -> _PartitionCodes:
        codes = self._topics.get(topic)
        if codes is None:
            codes = self._topics[topic] = _PartitionCodes(topic, self._partitions)
        return codes

    def _setup(self, operation: Operation) -> None:
        setup = msgspec.convert(operation.value, Setup)
        self._workload = setup.workload
        for topic in setup.topics:
            codes = self._codes_of(topic.name)
            for partition in range(topic.partitions):
                codes[partition]

    def _phase(self, operation: Operation) -> None:
        self._phases[operation.key] = operation.time_ns

    def _send(self, operation: Operation) -> None:
        if operation.type is OperationType.INVOKE:
            process = self._processes[operation.process]
            self._sends.invoke(operation, process, self._codes_of(operation.key))
        else:
            self._sends.complete(operation)

    def _assign(self, operation: Operation) -> None:
        if operation.type is not OperationType.OK:
            return
        self._assignments += 1
        self._assignment[operation.process] = self._assignments
        codes = self._codes_of(operation.key)
        for partition, offset in operation.value:
            self._assigns.append((self._assignments, codes[partition], offset, operation.index))

    def _poll(self, operation: Operation) -> None:
        if operation.type is OperationType.INVOKE:
            self._invoked_ns[operation.process] = operation.time_ns
        elif operation.type is OperationType.OK:
            self._returned(operation)

    def _final_read(self, operation: Operation) -> None:
        if operation.type is OperationType.INVOKE:
            self._invoked_ns[operation.process] = operation.time_ns
            self._final_readers.add(self._readers[_reader_of(operation)])
            self._final_began_ns = min(self._final_began_ns, operation.time_ns)
        elif operation.type is not OperationType.FAIL and operation.value.get("position") is not None:
            self._returned(operation)
            self._reads.coverage(operation, self._codes_of(operation.key), self._listed_ns())

    def _listed_ns(self) -> int:
        """Time before which no final read listed its offsets: when the phase began, or the first of them.

        A reader lists once and then reads one partition after the other, so the invocation of a single
        final read would be too late a time: what came in between need not be below the end.
        """
        return self._phases.get("final-read", self._final_began_ns)

    def _returned(self, operation: Operation) -> None:
        process = self._processes[operation.process]
        if operation.f == "final-read":
            self._assignments += 1
            assignment = self._assignments
        else:
            assignment = self._assignment.get(operation.process, -1 - process)
        reader = self._readers[_reader_of(operation)]
        invoked_ns = self._invoked_ns[operation.process]
        self._reads.call(operation, process, reader, assignment, invoked_ns)
        self._reads.records(operation.value["records"], self._codes_of(operation.key))


def _reader_of(operation: Operation) -> ReaderName:
    return ReaderName(operation.value["client"], operation.value["isolation"])


def _integers(values: list[int]) -> Integers:
    return np.array(values, dtype=np.int64)


def _booleans(values: Integers) -> Booleans:
    return values.astype(np.bool_)


def _transposed(rows: list[Any], width: int) -> list[Integers]:
    """Columns of equally wide rows of integers."""
    flat = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=len(rows) * width)
    return list(np.ascontiguousarray(flat.reshape(-1, width).T))


def _ranges(first: Integers, count: Integers) -> Integers:
    """The integers from each `first`, `count` of them, one range after the other."""
    before = np.cumsum(count) - count
    return np.repeat(first - before, count) + np.arange(int(count.sum()))


def _scattered(size: int, fill: int, rows: Integers, values: Integers) -> Integers:
    column = np.full(size, fill, dtype=np.int64)
    column[rows] = values
    return column
