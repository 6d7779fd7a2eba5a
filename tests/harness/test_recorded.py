"""What tests read of journals that are being written."""

from pathlib import Path

from checkers.history.operations import Operation, OperationType
from harness.record.journal import Clock, JournalEntry, Journals
from tests.harness.recorded import recorded


def test_the_beginning_of_a_line_is_left_for_later(tmp_path: Path) -> None:
    journals = Journals(tmp_path, "run", Clock())
    assert recorded(tmp_path) == []
    journal = journals.open("worker-3")
    written = [
        journal.append(JournalEntry(3, OperationType.OK, "observe", value=number)) for number in range(3)
    ]
    journals.close()
    whole = journal.path.read_bytes()

    seen: list[list[Operation]] = []
    for length in range(len(whole) + 1):
        journal.path.write_bytes(whole[:length])
        seen.append(recorded(tmp_path))
    assert all(some == written[: len(some)] for some in seen)
    assert seen[-1] == written
    assert {len(some) for some in seen} == {0, 1, 2, 3}
    assert recorded(tmp_path, "observer-*") == []
