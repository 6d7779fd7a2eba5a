"""Reads a run's journals and merges them into one history, or says precisely why it cannot.

What a crash leaves behind (a last line cut short, a journal without a line) is dropped and noted as damage.
Everything else that does not fit docs/histories.md was changed after it was written, and is refused.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from checkers.history import FORMAT_VERSION, History, JournalHeader, Operation, OperationType
from checkers.shapes import LARGEST, is_answered, is_observation, misfit_of, sends_of

_T = TypeVar("_T")
_RESTORE = "restore the journal as the run wrote it, or run the scenario again"


class HistoryError(Exception):
    """A folder holds no history that can be judged.

    Attributes:
        problem: what is wrong, with what was found.
        expected: what should have been there.
        place: folder, or file with line and column.
        next_step: what to do about it.
    """

    def __init__(self, problem: str, *, expected: str, place: str, next_step: str = _RESTORE) -> None:
        super().__init__(f"{place}: {problem}; expected {expected}. Next: {next_step}.")
        self.problem = problem
        self.expected = expected
        self.place = place
        self.next_step = next_step


class _Line(NamedTuple):
    """One line of a journal, with its place."""

    file: str
    number: int
    text: bytes

    def place(self, column: int) -> str:
        return f"{self.file}, line {self.number}, column {column}"

    def column_of(self, field: str) -> int:
        """Column, from 1, where a field begins; 1 if the line does not have it."""
        return max(self.text.find(b'"%b":' % field.encode()), 0) + 1


class _Entry(NamedTuple):
    """An operation, and what decides its place in the merged history."""

    time_ns: int
    journal: int
    position: int
    operation: Operation


class _Journal(NamedTuple):
    """What one file held; no header where the run ended before it was written."""

    file: str
    header: JournalHeader | None
    operations: list[Operation]
    damage: str | None


def read_history(folder: Path) -> History:
    """Read all journals ``history*.jsonl`` of a run's folder.

    Args:
        folder: the run's folder.

    Returns:
        The merged history, ordered by ``(time_ns, file name, index)`` and indexed anew.  Run and beginning
        are empty texts where no journal has a header.

    Raises:
        HistoryError: there is no journal, or one holds what the format does not allow.
    """
    paths = sorted(folder.glob("history*.jsonl"))
    if not paths:
        raise HistoryError(
            "no journal in this folder",
            expected="at least one file history*.jsonl",
            place=str(folder),
            next_step="name the folder of a run, for example runs/latest",
        )
    return read_journals(paths)


def read_journals(paths: Sequence[Path]) -> History:
    """Read journals of one run, as `read_history` reads all of them.

    Raises:
        HistoryError: one of them holds what the format does not allow.
    """
    journals = [_read_journal(path) for path in paths]
    run, began_at = _run_of(journals)
    return History(
        run=run,
        began_at=began_at,
        operations=_merged(journals),
        damage=tuple(journal.damage for journal in journals if journal.damage is not None),
    )


def _read_journal(path: Path) -> _Journal:
    """Read one file line by line.

    Raises:
        HistoryError: it cannot be read, or a line does not fit.
    """
    reader = _JournalReader(path.name)
    try:
        with path.open("rb") as file:
            for number, text in enumerate(file, start=1):
                reader.take(_Line(path.name, number, text))
    except OSError as error:
        raise HistoryError(
            f"the file cannot be read ({error.strerror})",
            expected="a readable file",
            place=path.name,
            next_step="give yourself the right to read it, or mend its disk",
        ) from error
    return reader.journal()


class _JournalReader:
    """Takes the lines of one file in their order."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._header: JournalHeader | None = None
        self._operations: list[Operation] = []
        self._damage: str | None = None
        self._header_decoder = msgspec.json.Decoder(JournalHeader)
        self._operation_decoder = msgspec.json.Decoder(Operation)

    def journal(self) -> _Journal:
        """What all lines together say."""
        damage = self._damage
        if damage is None and self._header is None:
            damage = f"{self._file}: empty, the run ended before its header was written"
        return _Journal(self._file, self._header, self._operations, damage)

    def take(self, line: _Line) -> None:
        """Add a line; one that was cut short becomes damage.

        Raises:
            HistoryError: the line does not fit.
        """
        if not line.text.endswith(b"\n") and not _is_json(line.text):
            self._damage = f"{line.file}, line {line.number}: cut short after {len(line.text)} bytes, dropped"
        elif self._header is None:
            self._header = _decode_header(self._header_decoder, line)
        else:
            operation = _decode(self._operation_decoder, line)
            self._check(operation, line)
            self._operations.append(operation)

    def _check(self, operation: Operation, line: _Line) -> None:
        if operation.index != len(self._operations):
            raise HistoryError(
                f"index {operation.index}: a line is missing, or was added",
                expected=f"index {len(self._operations)}",
                place=line.place(line.column_of("index")),
            )
        earliest = self._operations[-1].time_ns if self._operations else 0
        if not earliest <= operation.time_ns <= LARGEST:
            raise HistoryError(
                f"time_ns {operation.time_ns} goes back, or is no time of a run",
                expected=f"at least {earliest}",
                place=line.place(line.column_of("time_ns")),
            )
        misfit = misfit_of(operation)
        if misfit is not None:
            raise HistoryError(
                f"{operation.f} ({operation.type}): {misfit.problem}",
                expected="the shape that docs/histories.md gives",
                place=line.place(line.column_of(misfit.field)),
            )


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return True


def _decode_header(decoder: msgspec.json.Decoder[JournalHeader], line: _Line) -> JournalHeader:
    header = _decode(decoder, line)
    if header.krucible_history != FORMAT_VERSION:
        raise HistoryError(
            f"history format {header.krucible_history} is unknown to this krucible",
            expected=f"format {FORMAT_VERSION}",
            place=line.place(line.column_of("krucible_history")),
            next_step="judge it with the krucible that wrote it",
        )
    return header


def _decode(decoder: msgspec.json.Decoder[_T], line: _Line) -> _T:
    try:
        return decoder.decode(line.text)
    except msgspec.ValidationError as error:
        found = re.search(r"`\$\.(\w+)", str(error))
        column = line.column_of(found[1]) if found else 1
        expected = "a journal's header" if line.number == 1 else "an operation"
        raise HistoryError(str(error), expected=expected, place=line.place(column)) from None
    except msgspec.DecodeError as error:
        found = re.search(r"\(byte (\d+)\)", str(error))
        column = int(found[1]) + 1 if found else len(line.text)
        raise HistoryError(str(error), expected="one JSON object", place=line.place(column)) from None
    except UnicodeDecodeError as error:
        raise HistoryError(f"not UTF-8 ({error.reason})", expected="UTF-8", place=line.place(1)) from None


def _run_of(journals: list[_Journal]) -> tuple[str, str]:
    """Run id and beginning that all headers agree on."""
    headers = [(journal.file, journal.header) for journal in journals if journal.header is not None]
    if not headers:
        return "", ""
    first = headers[0][1]
    for file, header in headers:
        if header.run != first.run:
            raise HistoryError(
                f"journal of run {header.run} beside journals of run {first.run}",
                expected="the journals of one run",
                place=f"{file}, line 1",
                next_step="move the journals of the other run to a folder of their own",
            )
    return first.run, first.began_at


def _merged(journals: list[_Journal]) -> tuple[Operation, ...]:
    entries = [
        _Entry(operation.time_ns, number, operation.index, operation)
        for number, journal in enumerate(journals)
        for operation in journal.operations
    ]
    entries.sort(key=lambda entry: entry[:3])
    _check_processes(entries, [journal.file for journal in journals])
    return tuple(msgspec.structs.replace(entry.operation, index=index) for index, entry in enumerate(entries))


def _check_processes(entries: list[_Entry], files: list[str]) -> None:
    """Refuse completions of nothing, and invocations beside an outstanding one."""
    outstanding: dict[int | str, Operation] = {}
    for entry in entries:
        operation = entry.operation
        if is_observation(operation):
            continue
        invoked = outstanding.pop(operation.process, None)
        problem = _out_of_turn(invoked, operation)
        if problem is not None:
            raise HistoryError(
                f"process {operation.process}: {problem}",
                expected="an invocation, then its completion, one at a time",
                place=f"{files[entry.journal]}, line {entry.position + 2}, column 1",
            )
        if operation.type is OperationType.INVOKE:
            outstanding[operation.process] = operation


def _out_of_turn(invoked: Operation | None, operation: Operation) -> str | None:
    """Why an operation may not follow what its process has outstanding; None if it may."""
    if operation.type is OperationType.INVOKE:
        return None if invoked is None else f"invokes {operation.f} while {invoked.f} is outstanding"
    if invoked is None:
        return f"completes {operation.f} without an invocation"
    if (operation.f, operation.key) != (invoked.f, invoked.key):
        return f"completes {operation.f} {operation.key} while {invoked.f} {invoked.key} is outstanding"
    if operation.f == "send":
        return _answers_another(invoked, operation)
    transaction = operation.f == "txn" and operation.value is not None
    if transaction and _records_of(operation) != _records_of(invoked):
        return "answers other records than the transaction sent"
    return None


def _answers_another(invoked: Operation, operation: Operation) -> str | None:
    """Why a completion does not answer its send; None if it does."""
    if is_answered(operation.value):
        runs = isinstance(operation.value, dict) and isinstance(invoked.value, dict)
        same = _extent_of if runs else _asked
        if same(operation.value) != same(invoked.value):
            return "answers other records than were sent"
    elif operation.type is OperationType.OK and invoked.value:
        return "answers no record of those that were sent"
    return None


def _extent_of(value: dict[str, Any]) -> tuple[int, int, int]:
    return value["partition"], value["first"], value["count"]


def _asked(value: list[Any] | dict[str, Any]) -> list[list[Any]]:
    """Partition and value of each record that a send's value lists, or tells as a run."""
    if isinstance(value, dict):
        first = value["first"]
        return [[value["partition"], number] for number in range(first, first + value["count"])]
    return [entry[:2] for entry in value]


def _records_of(transaction: Operation) -> list[list[Any]]:
    """Topic, partition and value of each record that a transaction sends."""
    return [mop[1:4] for mop in sends_of(transaction)]
