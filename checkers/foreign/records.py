"""Operations of an imported history, checked and paired.

Every history must have the properties that Jepsen guarantees.  A checker can't judge operations that were
never invoked, or two concurrent operations of one process.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from checkers.foreign.text_pieces import Element, FilePlace, json_of
from checkers.history.operations import OperationType

TIME_SLACK_NS = 1_000_000_000
"""How far the time of an invocation may be before that of completions that are recorded before it."""

_TYPES = {kind.value: kind for kind in OperationType}
NEMESIS = "nemesis"
"""The process and function, in krucible's format, of all operations that are not a client's."""

_OURS = ("runner", "observer-")
_JOURNAL = "krucible_history"
_TIME_MAX = 2**62
_UNSET = -1
"""Index or time of an operation without a value in Jepsen (jepsen.history, Op)."""

_TURN = "an invocation, then its completion, one at a time in each process"
_ANONYMOUS_FUNCTION = "txn"
_KNOWN = frozenset({"type", "process", "f", "value", "error", "time", "index"})
_SHOWN_MAX = 60


class ForeignOperation(msgspec.Struct, frozen=True):
    """One operation as it was recorded.

    Attributes:
        type: invoke, ok, fail or info.
        process: the client's number or name.
        f: function; ``txn`` if the record has none.
        value: argument or result, as it was recorded.
        error: the error, as text.
        time_ns: time, nanoseconds; None if the record has none.
        line: its first line in the file, from 1.
        column: its column, from 1.
        extra: the record's other fields.
    """

    type: OperationType
    process: int | str
    f: str
    value: Any
    error: str | None
    time_ns: int | None
    line: int
    column: int
    extra: dict[str, object]


class OperationPositions(msgspec.Struct, frozen=True):
    """An invocation and its completion, as positions in the history; completed is None if there is none."""

    invoked: int
    completed: int | None


class Foreign(msgspec.Struct, frozen=True):
    """An imported history.

    Attributes:
        file: name of the file.
        records: all operations; those that are not a client's have the process `NEMESIS`.
        calls: pairs of the clients' operations, in the order of the invocations.
        damage: parts of the file that could not be read.
        warnings: unusual parts of the file, and how they were interpreted.
    """

    file: str
    records: tuple[ForeignOperation, ...]
    calls: tuple[OperationPositions, ...]
    damage: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def faults(self) -> int:
        """Number of operations that are not a client's."""
        return sum(record.process == NEMESIS for record in self.records)

    @property
    def succeeded(self) -> int:
        """Number of clients' operations that ended with ok."""
        return sum(record.type is OperationType.OK for record in self.records if record.process != NEMESIS)

    @property
    def outcomes(self) -> dict[str, Counter[str]]:
        """Number of calls by function and outcome; a client's call without a completion is ``open``."""
        counts: dict[str, Counter[str]] = {}
        for call in self.calls:
            outcome = "open" if call.completed is None else self.records[call.completed].type.value
            counts.setdefault(self.records[call.invoked].f, Counter())[outcome] += 1
        return counts | ({NEMESIS: Counter(info=self.faults)} if self.faults else {})

    @property
    def processes(self) -> int:
        """Number of clients' processes."""
        return len({record.process for record in self.records if record.process != NEMESIS})

    @property
    def timed(self) -> bool:
        """Whether every operation of a client has a time."""
        return all(record.time_ns is not None for record in self.records if record.process != NEMESIS)

    @property
    def functions(self) -> frozenset[str]:
        """All functions of clients' operations."""
        return frozenset(record.f for record in self.records if record.process != NEMESIS)

    def place(self, position: int) -> FilePlace:
        """Place of an operation in the file."""
        record = self.records[position]
        return FilePlace(self.file, record.line, record.column)


def foreign_of(elements: Iterable[Element], file: str, damage: list[str]) -> Foreign:
    """Convert a history's elements to operations, and pair them.

    Args:
        elements: as `checkers.foreign.files.open_source` yields them.
        file: its name, for messages.
        damage: parts that were cut off; read after all elements were read.

    Raises:
        HistoryError: an element is not an operation, or is out of order.
    """
    gathering = _Gathering()
    for element in elements:
        gathering.take(element)
    if not gathering.clients:
        place = FilePlace(file, 1, 1)
        raise place.error(
            "no operation of a client in this file",
            "a history in EDN, JSON or Jepsen's log form",
            "name a file with a recorded history",
        )
    records = tuple(
        record if record.process in gathering.clients else _of_nemesis(record) for record in gathering.records
    )
    foreign = Foreign(file, records, (), tuple(damage), tuple(gathering.warnings()))
    return msgspec.structs.replace(foreign, calls=tuple(_paired(foreign)))


def _of_nemesis(record: ForeignOperation) -> ForeignOperation:
    """An operation that is not a client's.

    Processes of Jepsen's clients are numbers; all others have only info operations.
    """
    return msgspec.structs.replace(record, type=OperationType.INFO, process=NEMESIS, f=NEMESIS)


class _Gathering:
    """Checks each element, alone and against earlier elements."""

    def __init__(self) -> None:
        self.records: list[ForeignOperation] = []
        self.clients: set[int | str] = set()
        self._nameless: bool | None = None
        self._pairs = 0
        self._last_index = -1
        self._completed_ns = 0
        self._latest_ns = 0
        self._late: list[FilePlace] = []

    def take(self, element: Element) -> None:
        """Add an operation.

        Raises:
            HistoryError: it is not an operation, or contradicts an earlier one.
        """
        fields, place = element
        if not isinstance(fields, dict):
            raise place.error("this is not an operation", "a map with :type, :process, :f and :value")
        if _JOURNAL in fields:
            raise place.error(
                "this is a journal of krucible's own",
                "a history of another harness",
                "give the folder of the run, or the unchanged file",
            )
        kind = _type_of(fields, place)
        process = self._process_of(fields, kind, place)
        self._check_index(fields.get("index"), place)
        time_ns = self._time_of(fields, kind, place)
        if process != NEMESIS and (isinstance(process, int) or kind is not OperationType.INFO):
            self.clients.add(process)
        self.records.append(
            ForeignOperation(
                type=kind,
                process=process,
                f=_function_of(fields, place),
                value=fields.get("value"),
                error=_text_or_none(fields.get("error")),
                time_ns=time_ns,
                line=place.line,
                column=place.column,
                extra={name: value for name, value in fields.items() if name not in _KNOWN},
            )
        )

    def _process_of(self, fields: Mapping[str, object], kind: OperationType, place: FilePlace) -> int | str:
        process = fields.get("process")
        nameless = process is None
        if self._nameless is not None and nameless is not self._nameless:
            raise place.error(
                "some operations have a process and some do not", "a process in every operation"
            )
        self._nameless = nameless
        if nameless:
            # Records without a process: each pair gets its own process, so that only the order relates them.
            self._pairs += kind is OperationType.INVOKE
            return self._pairs
        if isinstance(process, str) and process:
            return f"client {process}" if process.startswith(_OURS) else process
        if not isinstance(process, int) or isinstance(process, bool):
            raise place.error(f"{_shown(process)} is not a process", "a number or a name")
        return process if process >= 0 else NEMESIS

    def _check_index(self, index: object, place: FilePlace) -> None:
        if index is None or index == _UNSET:
            return
        if not isinstance(index, int) or isinstance(index, bool) or index <= self._last_index:
            raise place.error(
                f"index {_shown(index)} does not follow {self._last_index}", "indices that increase"
            )
        self._last_index = index

    def _time_of(self, fields: Mapping[str, object], kind: OperationType, place: FilePlace) -> int | None:
        """Time of a record, nanoseconds.

        Jepsen's workers take the time before they are recorded.  In published histories of older versions,
        times decrease by milliseconds if workers waited.  If an operation begins well before another one
        ended, and is recorded after that end, either the times or the order is wrong.  An index shows that
        the order is intended.
        """
        time_ns = fields.get("time")
        if time_ns is None or time_ns == _UNSET:
            return None
        if not isinstance(time_ns, int) or isinstance(time_ns, bool) or not 0 <= time_ns <= _TIME_MAX:
            raise place.error(f"{_shown(time_ns)} is not a time", f"nanoseconds, from 0 to {_TIME_MAX}")
        begins = kind is OperationType.INVOKE
        early = begins and time_ns < self._completed_ns - TIME_SLACK_NS
        if early and fields.get("index") in {None, _UNSET}:
            raise place.error(
                f"time goes back: begins at {time_ns}, one before it ended at {self._completed_ns}",
                "operations in time order, or an index that gives their order",
            )
        if early or time_ns < self._latest_ns - TIME_SLACK_NS:
            self._late.append(place)
        if not begins:
            self._completed_ns = max(self._completed_ns, time_ns)
        self._latest_ns = max(self._latest_ns, time_ns)
        return time_ns

    def warnings(self) -> Iterator[str]:
        """Unusual properties of all elements together."""
        if self._late:
            yield (
                f"{len(self._late)} operations are recorded more than 1 s behind later ones, first: "
                f"{self._late[0]}; the order of the file is used"
            )


def _paired(foreign: Foreign) -> list[OperationPositions]:
    """The calls of a history.

    Raises:
        HistoryError: a process invokes twice, completes without an invocation, or continues after an unknown
            outcome.
    """
    outstanding: dict[int | str, int] = {}
    completed: dict[int, int] = {}
    retired: set[int | str] = set()
    for position, record in enumerate(foreign.records):
        if record.process == NEMESIS:
            continue
        problem = _out_of_turn(foreign, record, outstanding.get(record.process), retired)
        if problem is not None:
            raise foreign.place(position).error(f"process {record.process} {problem}", _TURN)
        if record.type is OperationType.INVOKE:
            outstanding[record.process] = position
            continue
        completed[outstanding.pop(record.process)] = position
        if record.type is OperationType.INFO:
            retired.add(record.process)
    begun = (p for p, record in enumerate(foreign.records) if record.type is OperationType.INVOKE)
    return [OperationPositions(position, completed.get(position)) for position in begun]


def _out_of_turn(
    foreign: Foreign, record: ForeignOperation, invoked: int | None, retired: set[int | str]
) -> str | None:
    """Why an operation may not follow the previous one of its process; None if it may."""
    if record.type is OperationType.INVOKE:
        if invoked is not None:
            return f"invokes {record.f} while {foreign.records[invoked].f} is outstanding"
        return (
            f"invokes {record.f} after an operation with an unknown outcome"
            if record.process in retired
            else None
        )
    if invoked is None:
        return f"completes {record.f} without an invocation"
    begun = foreign.records[invoked].f
    return None if begun == record.f else f"completes {record.f} while {begun} is outstanding"


def _type_of(fields: Mapping[str, object], place: FilePlace) -> OperationType:
    name = fields.get("type")
    kind = _TYPES.get(name.removeprefix(":")) if isinstance(name, str) else None
    if kind is None:
        raise place.error(f"type {_shown(name)} is unknown", "invoke, ok, fail or info")
    return kind


def _function_of(fields: Mapping[str, object], place: FilePlace) -> str:
    name = fields.get("f", _ANONYMOUS_FUNCTION)
    if not isinstance(name, str) or not name:
        raise place.error(f"f {_shown(name)} is not a function", "a name such as read or txn")
    return name.removeprefix(":")


def _text_or_none(error: object) -> str | None:
    return error if error is None or isinstance(error, str) else _shown(error)


def _shown(value: object) -> str:
    """A value as text for messages."""
    text = json_of(value)
    return text if len(text) <= _SHOWN_MAX else f"{text[:_SHOWN_MAX]}…"
