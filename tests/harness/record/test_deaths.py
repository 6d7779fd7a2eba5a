"""What is written down of a harness that died: how it ended, what it last printed, and when."""

import signal
from pathlib import Path

import pytest

from checkers.history.operations import History, Operation, OperationType
from checkers.history.reading import read_history
from harness.record.deaths import death_text, is_noted, note_death, save_stderr
from harness.record.harness_failures import FAILURES_FILE
from harness.record.journal import RUNNER, Clock, JournalError, Journals, Recorder

DUMP = [
    "Fatal Python error: Aborted",
    "",
    "Thread 0x00007f (most recent call first):",
    '  File "x.py", line 1',
]


@pytest.mark.parametrize(
    ("code", "lines", "expected"),
    [
        (
            -signal.SIGKILL,
            (),
            "the harness was ended by SIGKILL (it was killed, or the kernel had no memory left (see dmesg))",
        ),
        (-signal.SIGUSR1, (), "the harness was ended by SIGUSR1"),
        (-(signal.SIGRTMIN + 1), (), f"the harness was ended by signal {signal.SIGRTMIN + 1}"),
        (3, (" ",), "the harness ended with 3"),
        (
            3,
            ["one", "two", "  three  more", "four"],
            "the harness ended with 3; it last said: two / three more / four",
        ),
        (3, ["assertion", *DUMP], "the harness ended with 3; it last said: assertion"),
        (3, DUMP, "the harness ended with 3; it last said: Fatal Python error: Aborted"),
        (3, ["a" * 400], f"the harness ended with 3; it last said: {'a' * 300}"),
    ],
)
def test_how_a_process_ended(code: int, lines: list[str], expected: str) -> None:
    assert death_text(code, lines) == expected


def test_a_death_is_recorded_in_the_history_at_the_time_of_the_last_operation(tmp_path: Path) -> None:
    journals = Journals(tmp_path, "run", Clock(source=iter(range(100)).__next__))
    runner = Recorder(journals.open(RUNNER, RUNNER), RUNNER)
    runner.observe("phase", "load")
    runner.observe("phase", "heal")
    before = read_history(tmp_path)
    assert not is_noted(tmp_path)
    note_death(tmp_path, before, "it was ended")
    assert is_noted(tmp_path)
    after = read_history(tmp_path)
    (noted,) = after.of("harness-failure")
    assert (noted.key, noted.value, noted.process) == ("heal", {"error": "it was ended"}, "aftermath")
    assert noted.time_ns == before.operations[-1].time_ns
    assert (after.run, after.lacking) == ("run", frozenset({RUNNER}))
    with pytest.raises(JournalError):
        note_death(tmp_path, after, "twice")


def test_a_death_before_any_operation_is_recorded_too(tmp_path: Path) -> None:
    note_death(tmp_path, History("run", "2026-11-22T01:00:00Z", ()), "it was ended")
    (noted,) = read_history(tmp_path).operations
    assert noted == Operation(
        0, 0, "aftermath", OperationType.OK, "harness-failure", "the start", {"error": "it was ended"}
    )


def test_lines_of_stderr_are_added_to_failures(tmp_path: Path) -> None:
    (tmp_path / FAILURES_FILE).write_text("before\n")
    save_stderr(tmp_path, ["one", "two"])
    assert (tmp_path / FAILURES_FILE).read_text() == "before\none\ntwo\n"
