"""Reads a run's journals and merges them into one history, or reports exactly why it can't.

A crash may leave an incomplete last line, a journal without lines, or a journal without its end.  Lines or
whole journals may be lost later.  All this is recorded as damage, and the journal as missing.  Any other
content that does not fit docs/histories.md was changed after it was written, and is refused.
"""

import re
from collections.abc import Sequence
from operator import attrgetter
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from checkers.history.bounds import check_file, check_records
from checkers.history.errors import HistoryError
from checkers.history.fields import LARGEST
from checkers.history.fitting import Misfit, all_fit, misfit_of
from checkers.history.journals import RUNNER, JournalSet, absent_journals, journal_of
from checkers.history.operations import OK, READABLE_VERSIONS, History, JournalHeader, Operation
from checkers.history.runner import END, JournalEnded
from checkers.history.turns import out_of_turn

__all__ = ["HistoryError", "read_history", "read_journals"]


class _Line(NamedTuple):
    """One line of a journal, and its place."""

    file: str
    number: int
    text: bytes

    def place(self, column: int) -> str:
        return f"{self.file}, line {self.number}, column {column}"

    def column_of(self, field: str) -> int:
        """Column, from 1, at which a field begins; 1 if the line does not have it."""
        return max(self.text.find(b'"%b":' % field.encode()), 0) + 1


class _Journal:
    """The content of one file.

    Attributes:
        file: name of the file.
        name: name of the journal that the file should hold.
        header: its header; None if the run ended before it was written.
        operations: its operations.
        damage: parts that could not be read.
        ended: its last line; None if it has none.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.name = journal_of(file) or file
        self.ended: JournalEnded | None = None
        self.header: JournalHeader | None = None
        self.operations: list[Operation] = []
        self.damage: str | None = f"{file}: empty, the run ended before its header was written"

    @property
    def lines(self) -> int:
        """Number of lines that were read."""
        return len(self.operations) + (self.header is not None)

    @property
    def latest_ns(self) -> int:
        """Time of its last operation."""
        return self.operations[-1].time_ns if self.operations else 0

    def take_header(self, text: bytes) -> None:
        """Read the first line.

        Raises:
            HistoryError: it does not fit.
        """
        if self._is_whole(text):
            self.header = _header_of(_Line(self.file, 1, text))
            self.name = journal_of(self.file) or self.header.journal
            self.damage = None

    def take_all(self, texts: list[bytes]) -> bool:
        """Add the lines after the header if all of them are complete and fit; otherwise add none."""
        try:
            operations = list(map(_decode_operation, texts))
        except _UNDECODABLE:
            return False
        first = len(self.operations)
        times_ns = [self.latest_ns, *map(_TIME_NS, operations), LARGEST]
        fit = (
            texts[-1].endswith(b"\n")
            and list(map(_INDEX, operations)) == list(range(first, first + len(operations)))
            and times_ns == sorted(times_ns)
            and all_fit(operations)
        )
        if fit:
            self.operations += operations
        return fit

    def take_each(self, texts: list[bytes]) -> None:
        """Add the lines after the header one by one, up to a line that was cut short.

        Raises:
            HistoryError: one of them does not fit.
        """
        for text in texts:
            if self.damage is None and self._is_whole(text):
                self._take(_Line(self.file, self.lines + 1, text))

    def conclude(self) -> None:
        """Use the last line as a summary, once all lines were added; format 1 has none."""
        if self.header is None or self.header.krucible_history == 1:
            return
        if self.header.journal != self.name:
            self.operations = []
            self.damage = f"{self.file}: holds the journal {self.header.journal}, left out"
        elif self.damage is None:
            self._take_end()

    def _take_end(self) -> None:
        lines = self.lines
        ends = [operation for operation in self.operations if operation.f == END and operation.type is OK]
        if not ends:
            self.damage = f"{self.file}: has no end, its last operations may be missing"
            return
        self.ended = msgspec.convert(ends[0].value, JournalEnded)
        if self.ended.lines != lines:
            self.damage = f"{self.file}: has {lines} lines, but its end reports {self.ended.lines}"
        self.operations = [operation for operation in self.operations if operation.f != END]

    def _is_whole(self, text: bytes) -> bool:
        """Whether a line is complete.

        Records an incomplete line as damage; only the last line can be incomplete.
        """
        whole = text.endswith(b"\n") or _is_json(text)
        if not whole:
            self.damage = f"{self.file}, line {self.lines + 1}: cut short after {len(text)} bytes, dropped"
        return whole

    def _take(self, line: _Line) -> None:
        try:
            operation = _decode_operation(line.text)
        except _UNDECODABLE as error:
            raise _undecodable(error, line) from None
        if operation.index > len(self.operations):
            missing = f"index {operation.index} where {len(self.operations)} was due"
            self.damage = (
                f"{self.file}, line {line.number}: {missing}, lines are missing, the rest is left out"
            )
            return
        in_order = operation.index == len(self.operations) and self.latest_ns <= operation.time_ns <= LARGEST
        misfit = misfit_of(operation)
        if misfit is not None or not in_order:
            raise _refusal(operation, misfit, self.latest_ns, line)
        self.operations.append(operation)


def read_history(folder: Path) -> History:
    """Read all journals ``history*.jsonl`` of a run's folder.

    Args:
        folder: the run's folder.

    Returns:
        The merged history, ordered by ``(time_ns, file name, index)`` and indexed again.  The run's id and
        start are empty strings if no journal has a header.

    Raises:
        HistoryError: there is no journal, or the content of one violates the format.
    """
    paths = sorted(folder.glob("history*.jsonl"))
    if not paths:
        raise HistoryError(
            "no journal in this folder",
            expected="at least one file history*.jsonl",
            place=str(folder),
            next_step="name the folder of a run, for example runs/latest",
        )
    journals = _journals_of(paths)
    history = _history_of(journals)
    lost = {**_contradicted(journals), **absent_journals(_run_listed(journals, history.operations))}
    if not lost:
        return history
    return msgspec.structs.replace(
        history,
        damage=(*history.damage, *(f"history-{name}.jsonl: {why}" for name, why in lost.items())),
        lacking=history.lacking.union(lost),
    )


def read_journals(paths: Sequence[Path]) -> History:
    """Read some journals of one run like `read_history`; the others do not count as missing.

    Raises:
        HistoryError: the content of one of them violates the format.
    """
    return _history_of(_journals_of(paths))


def _journals_of(paths: Sequence[Path]) -> list[_Journal]:
    """Read the content of all files.

    Raises:
        HistoryError: a file can't be read, a line does not fit, or they exceed the limits of `bounds`.
    """
    journals = [_read_journal(path) for path in paths]
    check_records((operation for journal in journals for operation in journal.operations), paths)
    return journals


def _history_of(journals: list[_Journal]) -> History:
    """Merge the journals of one run.

    Raises:
        HistoryError: they are not of one run, or the content of one violates the format.
    """
    run, began_at = _run_of(journals)
    damaged = [(journal.name, journal.damage) for journal in journals if journal.damage is not None]
    return History(
        run=run,
        began_at=began_at,
        operations=_merged(journals),
        damage=tuple(damage for _, damage in damaged),
        lacking=frozenset(name for name, _ in damaged),
    )


def _run_listed(journals: list[_Journal], operations: Sequence[Operation]) -> JournalSet:
    listed = [name for journal in journals if journal.ended for name, _, _ in journal.ended.journals]
    # A journal that ended without operations is complete: its writer had nothing to write.
    lines = {journal.name: len(journal.operations) + (journal.ended is not None) for journal in journals}
    return JournalSet(operations, lines, listed)


def _contradicted(journals: list[_Journal]) -> dict[str, str]:
    """Complete journals whose number of lines differs from the number that the runner recorded."""
    recorded = {
        name: lines
        for journal in journals
        if journal.ended is not None and journal.name == RUNNER
        for name, _, lines in journal.ended.journals
    }
    found = {journal.name: journal.ended.lines for journal in journals if journal.ended is not None}
    return {
        name: f"has {found[name]} lines, and the run wrote {lines}"
        for name, lines in recorded.items()
        if lines is not None and found.get(name, lines) != lines
    }


def _read_journal(path: Path) -> _Journal:
    """Read one file line by line.

    Raises:
        HistoryError: it cannot be read, or a line does not fit.
    """
    try:
        check_file(path)
        with path.open("rb") as file:
            return _journal_of(path.name, file)
    except OSError as error:
        raise HistoryError(
            f"the file cannot be read ({error.strerror})",
            expected="a readable file",
            place=path.name,
            next_step="get permission to read it, or fix its disk",
        ) from error


def _journal_of(name: str, file: BinaryIO) -> _Journal:
    """Read the lines of one file; an incomplete line is recorded as damage.

    Raises:
        HistoryError: a line does not fit.
    """
    journal = _Journal(name)
    for text in file.readlines(1):
        journal.take_header(text)
    # A journal may be written while it is read: the text after a cut line is the rest of that line.
    while journal.damage is None and (texts := file.readlines(_BLOCK_BYTES)):
        # Almost always all lines fit.  If one does not, it is determined which one does not, and why.
        if not journal.take_all(texts):
            journal.take_each(texts)
    journal.conclude()
    return journal


_decode_operation = msgspec.json.Decoder(Operation).decode
_INDEX, _TIME_NS = attrgetter("index"), attrgetter("time_ns")
_BLOCK_BYTES = 1 << 20
"""Approximate size of a part that is read at once; decoded values are held twice while checked."""
_UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def _refusal(operation: Operation, misfit: Misfit | None, earliest_ns: int, line: _Line) -> HistoryError:
    """Why an operation is not allowed in its line."""
    index = line.number - 2
    if operation.index != index:
        return HistoryError(
            f"index {operation.index}: a line was added",
            expected=f"index {index}",
            place=line.place(line.column_of("index")),
        )
    if misfit is None or not earliest_ns <= operation.time_ns <= LARGEST:
        return HistoryError(
            f"time_ns {operation.time_ns} goes back, or is no time of a run",
            expected=f"at least {earliest_ns}",
            place=line.place(line.column_of("time_ns")),
        )
    return HistoryError(
        f"{operation.f} ({operation.type}): {misfit.problem}",
        expected="the shape that docs/histories.md gives",
        place=line.place(line.column_of(misfit.field)),
    )


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text)
    except _UNDECODABLE:
        return False
    return True


def _header_of(line: _Line) -> JournalHeader:
    try:
        header = msgspec.json.decode(line.text, type=JournalHeader)
    except _UNDECODABLE as error:
        raise _undecodable(error, line) from None
    if header.krucible_history not in READABLE_VERSIONS:
        raise HistoryError(
            f"history format {header.krucible_history} is unknown to this krucible",
            expected=f"one of the formats {sorted(READABLE_VERSIONS)}",
            place=line.place(line.column_of("krucible_history")),
            next_step="judge it with the krucible that wrote it",
        )
    return header


def _undecodable(
    error: msgspec.DecodeError | UnicodeDecodeError | RecursionError, line: _Line
) -> HistoryError:
    """Why a line is not a header or an operation."""
    if isinstance(error, RecursionError):
        return HistoryError("nested too deeply", expected="one JSON object", place=line.place(1))
    if isinstance(error, UnicodeDecodeError):
        return HistoryError(f"not UTF-8 ({error.reason})", expected="UTF-8", place=line.place(1))
    if isinstance(error, msgspec.ValidationError):
        found = re.search(r"`\$\.(\w+)", str(error))
        column = line.column_of(found[1]) if found else 1
        expected = "a journal's header" if line.number == 1 else "an operation"
        return HistoryError(str(error), expected=expected, place=line.place(column))
    found = re.search(r"\(byte (\d+)\)", str(error))
    column = int(found[1]) + 1 if found else len(line.text)
    return HistoryError(str(error), expected="one JSON object", place=line.place(column))


def _run_of(journals: list[_Journal]) -> tuple[str, str]:
    """The run's id and start, on which all headers agree."""
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
    operations = [operation for journal in journals for operation in journal.operations]
    # The sort is stable: operations with equal times keep the order of their journals and within each.
    operations.sort(key=_TIME_NS)
    _check_processes(operations, journals)
    replace = msgspec.structs.replace
    return tuple([replace(operation, index=index) for index, operation in enumerate(operations)])


def _check_processes(operations: list[Operation], journals: list[_Journal]) -> None:
    """Refuse completions without an invocation, and invocations during an outstanding operation."""
    for operation, problem in out_of_turn(operations):
        raise HistoryError(
            f"process {operation.process}: {problem}",
            expected="an invocation, then its completion, one at a time",
            place=f"{_file_of(operation, journals)}, line {operation.index + 2}, column 1",
        )


def _file_of(operation: Operation, journals: list[_Journal]) -> str:
    """The file that an operation was read from."""
    return next(j.file for j in journals if any(operation is other for other in j.operations))
