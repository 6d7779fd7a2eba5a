"""What a killed writer left in its journal is taken up: whole, complete, by processes of other numbers."""

from pathlib import Path
from typing import Any

import pytest

from checkers.history.operations import Operation, OperationType
from checkers.history.reading import read_journals
from harness.record.journal import Clock, Journal, JournalEntry, JournalError, Journals
from harness.record.unfinished_journals import NOTHING, UnfinishedJournal, conclude, left_in

INVOKE, OK, INFO = OperationType.INVOKE, OperationType.OK, OperationType.INFO
SEND: Any = {"partition": 0, "first": 1, "count": 2}


def begun(folder: Path) -> Path:
    """A journal with one operation that was completed, and one that was not."""
    journal = Journals(folder, "run", Clock()).open("bulk-0")
    journal.append(JournalEntry(0, INVOKE, "send", "bulk-0", SEND))
    journal.append(JournalEntry(0, OK, "send", "bulk-0", SEND | {"offsets": [[0, 2]]}))
    journal.append(JournalEntry(13, INVOKE, "send", "bulk-0", SEND))
    journal.close()
    return folder / "history-bulk-0.jsonl"


def operations_left(left: UnfinishedJournal | None) -> tuple[int, list[int | str]]:
    assert left is not None
    return left.operations, [operation.process for operation in left.outstanding]


def test_what_was_outstanding_is_completed_in_the_same_journal(tmp_path: Path) -> None:
    path = begun(tmp_path)
    left = left_in(path)
    assert operations_left(left) == (3, [13])
    assert left is not None
    journal = Journal(path, Journals(tmp_path, "run", Clock()).header("bulk-0"), Clock(0), operations=3)
    conclude(left, journal)
    journal.end()
    history = read_journals([path])
    assert history.damage == ()
    last: Operation = history.operations[-1]
    assert (last.index, last.process, last.type, last.value) == (3, 13, INFO, SEND)
    ended = left_in(path)
    assert ended is not None
    assert ended.ended


@pytest.mark.parametrize("cut", [1, 20])
def test_a_line_that_was_cut_short_is_taken_away(tmp_path: Path, cut: int) -> None:
    path = begun(tmp_path)
    path.write_bytes(path.read_bytes()[:-cut])
    assert operations_left(left_in(path)) == (2, [])
    assert path.read_bytes().endswith(b"\n")
    assert operations_left(left_in(path)) == (2, [])


@pytest.mark.parametrize("text", [None, b"", b'{"krucible_hist'])
def test_a_journal_that_was_not_begun_is_begun_by_the_next(tmp_path: Path, text: bytes | None) -> None:
    path = tmp_path / "history-bulk-0.jsonl"
    if text is not None:
        path.write_bytes(text)
    assert left_in(path) is None
    assert not path.exists()


@pytest.mark.parametrize("text", [b"{}\nno operation\n", b"{}\n{}\n"])
def test_what_is_no_journal_is_refused(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "history-bulk-0.jsonl"
    path.write_bytes(text)
    with pytest.raises(JournalError, match="can't be continued"):
        left_in(path)
    assert path.read_bytes() == text


@pytest.mark.parametrize(("worker", "number"), [(0, 10), (1, 1), (3, 33)])
def test_a_successor_has_an_unused_number(worker: int, number: int) -> None:
    left = UnfinishedJournal(0, (), frozenset({0, 3, 13, 23}))
    assert left.next_after(worker, 10) == number
    assert NOTHING.next_after(worker, 10) == worker
