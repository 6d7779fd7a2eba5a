"""Refuses, before they are read, journals that no run writes and that would exhaust memory or never end.

A few bytes can represent much data: a packed column, a run of records, a number of partitions.  This module
limits that amount, by figures far above those of the largest measured runs (docs/benchmarks.md).
"""

import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from checkers.history.errors import HistoryError
from checkers.history.operations import INVOKE, Operation

LINE_BYTES_MAX = 256 << 20
"""The longest line; the final read of one partition is one line, with about 13 bytes per record."""
RECORDS_MAX = 100_000_000
"""The largest number of records in the runs of all sends; each record takes some 100 bytes of memory."""
RECORDS_FREE = 5_000_000
RECORDS_PER_BYTE_MAX = 40
"""The largest number of records per byte of the journals, above `RECORDS_FREE`; real runs have about 1.5."""
PARTITIONS_MAX = 200_000
"""The largest number of partitions of all topics in a set-up; more than a cluster is documented to hold."""
_PIECE_BYTES = 1 << 20


def check_file(path: Path) -> None:
    """Refuse a file with a line that is too long, and a non-file, because reading it may never end.

    Raises:
        HistoryError: the path is refused.
        OSError: the type of the path can't be determined.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise HistoryError(
            f"this is {_kind_of(status.st_mode)}",
            expected="a file",
            place=path.name,
            next_step="take it out of the run's folder, or restore the journal",
        )
    if status.st_size > LINE_BYTES_MAX:
        _check_lines(path)


def check_records(operations: Iterable[Operation], paths: Sequence[Path]) -> None:
    """Refuse runs with more records than a run can send in that many bytes.

    Raises:
        HistoryError: the runs are refused.
    """
    records = sum(_records_of(operation) for operation in operations)
    if records <= RECORDS_FREE:
        return
    size = sum(path.stat().st_size for path in paths)
    most = min(RECORDS_MAX, RECORDS_PER_BYTE_MAX * size)
    if records > most:
        raise HistoryError(
            f"{records:,} records are said to be sent, in journals of {size:,} bytes",
            expected=f"at most {most:,} records in journals of that size",
            place=", ".join(sorted({str(path.parent) for path in paths})),
        )


class _Partitioned(Protocol):
    """Something that has partitions, such as a topic."""

    @property
    def partitions(self) -> int: ...


def partitions_problem(topics: Iterable[_Partitioned]) -> str | None:
    """The problem with the number of partitions of some topics, or None."""
    total = sum(topic.partitions for topic in topics)
    return (
        f"Expected at most {PARTITIONS_MAX:,} partitions, got {total:,}" if total > PARTITIONS_MAX else None
    )


def _records_of(operation: Operation) -> int:
    if operation.f == "send" and operation.type is INVOKE and isinstance(operation.value, dict):
        return int(operation.value["count"])
    return 0


def _kind_of(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a pipe"
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a device" if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) else "a socket"


def _check_lines(path: Path) -> None:
    """Find the ends of lines without keeping a line in memory."""
    length, number = 0, 1
    with path.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            last = piece.rfind(b"\n")
            if last >= 0:
                number += piece.count(b"\n")
            length = len(piece) - last - 1 + (length if last < 0 else 0)
            if length > LINE_BYTES_MAX:
                raise HistoryError(
                    f"a line of more than {LINE_BYTES_MAX:,} bytes",
                    expected="one operation a line",
                    place=f"{path.name}, line {number}",
                )
