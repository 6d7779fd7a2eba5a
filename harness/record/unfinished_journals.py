"""Continues a journal whose writer, an OS process, was killed.

Every invocation is on disk before its request is sent.  So the process's outstanding operations are known,
but their outcomes are unknown.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from checkers.history.operations import Operation, OperationType
from checkers.history.runner import END
from harness.record.journal import Journal, JournalEntry, JournalError

_DECODE = msgspec.json.Decoder(Operation).decode


class UnfinishedJournal(NamedTuple):
    """The content of a journal whose writer was killed.

    Attributes:
        operations: number of operations in the journal.
        outstanding: invocations without a completion.
        processes: numbers of all processes that invoked operations.
        ended: whether the journal has its last line, so that it must not be continued.
    """

    operations: int
    outstanding: tuple[Operation, ...]
    processes: frozenset[int]
    ended: bool = False

    def next_after(self, worker: int, workers: int) -> int:
        """The first unused number for a process of a worker; its numbers differ by `workers`."""
        used = [number for number in self.processes if number % workers == worker]
        return max(used) + workers if used else worker


NOTHING = UnfinishedJournal(0, (), frozenset())


def left_in(path: Path) -> UnfinishedJournal | None:
    """Content of a journal; None if it was never begun.

    An incomplete line is removed: no request is sent before its line is complete, and an operation whose
    completion is incomplete counts as outstanding.

    Raises:
        JournalError: the file can't be read, or it is not a journal.
    """
    try:
        text = path.read_bytes() if path.exists() else b""
        header, *lines = text.split(b"\n")[:-1] or [b""]
        if not header:
            path.unlink(missing_ok=True)
            return None
        operations = list(map(_DECODE, lines))
        with path.open("r+b") as file:
            file.truncate(text.rfind(b"\n") + 1)
    except (OSError, msgspec.MsgspecError) as error:
        raise JournalError("a journal can't be continued", got=str(error), where=str(path)) from error
    return _left(operations)


def conclude(left: UnfinishedJournal, journal: Journal) -> None:
    """Complete outstanding operations with an unknown outcome; their processes are retired.

    Raises:
        JournalError: it could not be written.
    """
    for begun in left.outstanding:
        error = "its process was ended from outside"
        journal.append(
            JournalEntry(
                begun.process, OperationType.INFO, begun.f, begun.key, begun.value, error, begun.node
            )
        )


def _left(operations: Sequence[Operation]) -> UnfinishedJournal:
    outstanding: dict[int | str, Operation] = {}
    for operation in operations:
        if operation.type is OperationType.INVOKE:
            outstanding[operation.process] = operation
        else:
            outstanding.pop(operation.process, None)
    numbers = {operation.process for operation in operations if isinstance(operation.process, int)}
    ended = bool(operations) and operations[-1].f == END
    return UnfinishedJournal(len(operations), tuple(outstanding.values()), frozenset(numbers), ended)
