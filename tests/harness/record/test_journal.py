"""The journal keeps what it was given, in order, before the next thing happens."""

import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from checkers.history.operations import JournalHeader, Operation, OperationType
from checkers.history.polls import Isolation, Polled
from checkers.history.reading import read_history
from harness.record.events import Event, Recorded
from harness.record.journal import Clock, Journal, JournalEntry, JournalError, Journals, Recorder, describe

OK, FAIL, INFO, INVOKE = OperationType.OK, OperationType.FAIL, OperationType.INFO, OperationType.INVOKE


@pytest.fixture
def journals(tmp_path: Path) -> Iterator[Journals]:
    made = Journals(tmp_path, "abc", Clock())
    yield made
    made.close()


def lines(journal: Journal) -> tuple[JournalHeader, list[Operation]]:
    header, *rest = journal.path.read_bytes().splitlines()
    return msgspec.json.decode(header, type=JournalHeader), [
        msgspec.json.decode(line, type=Operation) for line in rest
    ]


def test_a_clock_counts_from_the_beginning_of_the_run() -> None:
    readings = iter([100, 107, 250])
    clock = Clock(source=lambda: next(readings))
    assert (clock.now_ns(), clock.now_ns()) == (7, 150)


def test_a_clock_can_be_handed_to_another_process() -> None:
    assert Clock(began_ns=40, source=lambda: 45).now_ns() == 5


def test_a_journal_begins_with_its_header_and_numbers_its_lines(journals: Journals) -> None:
    journal = journals.open("worker-3")
    journal.append(JournalEntry(3, INVOKE, "send", "log", [[2, 3_000_000_001]]))
    journal.append(JournalEntry(3, OK, "send", "log", [[2, 3_000_000_001, 17, "ok"]]), time_ns=12)
    header, operations = lines(journal)
    assert (header.krucible_history, header.run, header.journal) == (2, "abc", "worker-3")
    assert [operation.index for operation in operations] == [0, 1]
    assert operations[1].time_ns == 12
    assert journal.path.name == "history-worker-3.jsonl"


def test_the_listener_hears_every_operation_after_it_was_written(tmp_path: Path) -> None:
    heard: list[tuple[Event, int]] = []
    journals = Journals(
        tmp_path, "r", Clock(), lambda event: heard.append((event, len(path.read_bytes().splitlines())))
    )
    journal = journals.open("a")
    path = journal.path
    operation = journal.append(JournalEntry("runner", OK, "phase", "load"))
    assert heard == [(Recorded(operation), 2)]
    journals.close()


def test_two_writers_cannot_share_a_name(journals: Journals) -> None:
    journals.open("a")
    with pytest.raises(JournalError) as caught:
        journals.open("a")
    assert "another name" in caught.value.next_step


def test_threads_share_a_journal_without_tearing_lines(journals: Journals) -> None:
    journal = journals.open("shared")

    def write(process: int) -> None:
        for i in range(200):
            journal.append(JournalEntry(process, OK, "observe", "x" * 50, i))

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    _, operations = lines(journal)
    assert [operation.index for operation in operations] == list(range(800))


def test_a_full_disk_is_reported_as_such() -> None:
    with pytest.raises(JournalError) as caught:
        Journal(Path("/dev/full"), JournalHeader(1, "r", "j", "now"), Clock())
    assert caught.value.got == "No space left on device"
    assert "free space" in caught.value.next_step


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_disk_that_fills_keeps_what_was_recorded(
    journals: Journals, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """The part of a line that still fitted stays cut at the end; nothing is ever written after it."""
    journal = journals.open("a")
    journal.append(JournalEntry(1, INVOKE, "send"))
    whole = journal.path.read_bytes()
    real_write = os.write

    def nearly_full(fd: int, line: bytes) -> int:
        if len(line) > 10 and line.startswith(b"{"):
            return real_write(fd, line[:10])
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "write", nearly_full)
    with pytest.raises(JournalError):
        journal.append(JournalEntry(1, OK, "send"))
    monkeypatch.setattr(os, "write", real_write)
    with pytest.raises(JournalError):
        journal.append(JournalEntry(1, OK, "send"))
    assert journal.path.read_bytes() == whole + b'{"index":1'


def test_a_closed_journal_refuses(journals: Journals) -> None:
    journal = journals.open("a")
    journals.close()
    journal.close()
    with pytest.raises(JournalError, match="closed"):
        journal.append(JournalEntry(1, OK, "send"))


def test_a_process_has_one_operation_outstanding(journals: Journals) -> None:
    recorder = Recorder(journals.open("a"), 0, workers=2)
    recorder.invoke("send", "log", [])
    with pytest.raises(RuntimeError, match="outstanding"):
        recorder.invoke("send", "log", [])


@pytest.mark.parametrize("kind", [OK, INVOKE])
def test_only_what_was_begun_can_be_completed(journals: Journals, kind: OperationType) -> None:
    with pytest.raises(RuntimeError, match="nothing to complete"):
        Recorder(journals.open("a"), 0, workers=2).complete(kind)


def test_info_retires_a_process_and_nothing_else_does(journals: Journals) -> None:
    recorder = Recorder(journals.open("a"), 1, workers=6)
    for kind, after in ((OK, 1), (FAIL, 1), (INFO, 7), (OK, 7), (INFO, 13)):
        recorder.invoke("send")
        recorder.complete(kind)
        assert recorder.process == after


def test_a_singleton_is_never_retired(journals: Journals) -> None:
    recorder = Recorder(journals.open("nemesis"), "nemesis")
    recorder.invoke("inject", "f1")
    recorder.complete(INFO, error="not confirmed")
    assert recorder.process == "nemesis"


def test_workers_are_numbered_below_their_count(journals: Journals) -> None:
    with pytest.raises(ValueError, match="numbered from 0"):
        Recorder(journals.open("a"), 6, workers=6)


def test_a_completion_repeats_what_was_asked_of_whom(journals: Journals) -> None:
    journal = journals.open("a")
    asked: Any = {"bound_ms": 1}
    value: Any = {"took_ms": 5}
    with Recorder(journal, "runner").operation("recover", "k", asked, node="n1") as outcome:
        outcome.ok(value)
    _, (invoked, completed) = lines(journal)
    assert (invoked.type, invoked.value) == (INVOKE, {"bound_ms": 1})
    assert (completed.type, completed.value) == (OK, {"took_ms": 5})
    assert (completed.f, completed.key, completed.node) == ("recover", "k", "n1")


def test_an_operation_that_says_nothing_is_indeterminate(journals: Journals) -> None:
    journal = journals.open("a")
    with Recorder(journal, "runner").operation("recover", value=3):
        pass
    assert lines(journal)[1][1].type is INFO


def test_an_exception_completes_as_info_and_goes_on(journals: Journals) -> None:
    journal = journals.open("a")
    recorder = Recorder(journal, 0, workers=3)
    asked: Any = {"client": "x"}
    with pytest.raises(ZeroDivisionError), recorder.operation("poll", "log", asked):
        raise ZeroDivisionError("by nought")
    completed = lines(journal)[1][1]
    assert (completed.type, completed.error) == (INFO, "ZeroDivisionError: by nought")
    assert recorder.process == 3


def test_a_journal_error_inside_an_operation_is_not_recorded_again(journals: Journals) -> None:
    journal = journals.open("a")
    with pytest.raises(JournalError), Recorder(journal, 0, 1).operation("send"):
        raise JournalError("full")
    assert len(lines(journal)[1]) == 1


def test_an_observation_stands_alone(journals: Journals) -> None:
    journal = journals.open("a")
    value: Any = {"answer": "error"}
    Recorder(journal, "observer-x").observe("observe", "quorum", value, "n1")
    (operation,) = lines(journal)[1]
    assert (operation.type, operation.process, operation.node) == (OK, "observer-x", "n1")


def test_descriptions_are_one_short_line() -> None:
    assert describe(KeyError()) == "KeyError"
    assert describe(ValueError("a\n  b")) == "ValueError: a b"
    assert describe(ValueError("a  c\n\n  b"), separator="; ") == "ValueError: a c; b"
    assert describe(ValueError("ValueError: text")) == "ValueError: text"
    assert len(describe(ValueError("x" * 1000))) == 300


KILLED_IN_MID_FLIGHT = """
import os, signal, sys
from pathlib import Path
from harness.record.journal import Clock, Journals, Recorder
recorder = Recorder(Journals(Path(sys.argv[1]), "r", Clock()).open("worker-0"), 0, 1)
with recorder.operation("send", "log", [[0, 1]]):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_an_invocation_survives_a_kill_of_the_harness(tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", KILLED_IN_MID_FLIGHT, str(tmp_path)], check=False, timeout=120
    )
    assert ended.returncode == -signal.SIGKILL
    _, line = (tmp_path / "history-worker-0.jsonl").read_bytes().splitlines()
    assert msgspec.json.decode(line, type=Operation).value == [[0, 1]]


def test_a_journal_that_is_closed_in_order_ends_with_the_number_of_its_lines(journals: Journals) -> None:
    journal = journals.open("worker-3")
    recorder = Recorder(journal, 3, workers=5)
    recorder.invoke("send")
    recorder.complete(INFO)
    journals.close()
    journals.close()
    _, operations = lines(journal)
    assert (operations[-1].f, operations[-1].process, operations[-1].value) == (
        "end",
        "worker-3",
        {"lines": 4},
    )
    with pytest.raises(JournalError, match="closed"):
        recorder.invoke("send")


def test_a_journal_whose_writer_was_given_up_has_no_end(journals: Journals) -> None:
    journal = journals.open("worker-3")
    recorder = Recorder(journal, 3, workers=5)
    other = Recorder(journal, "runner")
    recorder.invoke("send")
    other.observe("phase", "load")
    assert journal.end() is None
    assert [operation.f for operation in lines(journal)[1]] == ["send", "phase"]


def test_a_journal_on_a_full_disk_is_closed_without_an_end() -> None:
    journal = Journal.__new__(Journal)
    with pytest.raises(JournalError):
        journal.__init__(Path("/dev/full"), JournalHeader(2, "r", "j", "now"), Clock())  # type: ignore[misc]
    assert journal.end() is None


def test_the_runners_journal_names_each_other_one_and_lists_all_at_its_end(journals: Journals) -> None:
    runner = journals.open("runner", "runner")
    given_up = Recorder(journals.open("worker-0", "producer"), 0, workers=1)
    given_up.invoke("send")
    journals.expect("bulk-0", "producer")
    journals.expect("bulk-0", "producer")
    journals.open("nemesis")
    journals.close()
    *opened, end = lines(runner)[1]
    assert [(operation.f, operation.key, operation.value) for operation in opened] == [
        ("journal", "worker-0", {"role": "producer"}),
        ("journal", "bulk-0", {"role": "producer"}),
        ("journal", "nemesis", {"role": None}),
    ]
    listed = [["worker-0", "producer", None], ["bulk-0", "producer", None], ["nemesis", None, 2]]
    assert end.value == {"lines": 5, "journals": listed}


def test_what_the_journals_of_a_run_say_of_themselves_is_what_is_read(journals: Journals) -> None:
    recorder = Recorder(journals.open("runner", "runner"), "runner")
    for name in ("nemesis", "worker-0"):
        journals.open(name)
    recorder.observe("phase", "load")
    journals.close()
    history = read_history(journals.folder)
    assert (history.damage, history.lacking) == ((), frozenset())
    (journals.folder / "history-worker-0.jsonl").unlink()
    assert read_history(journals.folder).lacking == {"worker-0"}


def test_who_hears_a_struct_hears_what_a_reader_of_the_file_reads(tmp_path: Path) -> None:
    heard: list[Event] = []
    journals = Journals(tmp_path, "abc", Clock(), heard.append)
    journal = journals.open("worker-0")
    value = Polled(client="kafka-python", isolation=Isolation.READ_COMMITTED, records=[(2, [7], ["x"])])
    journal.append(JournalEntry(0, OK, "poll", "log", value), time_ns=12)
    event = heard[-1]
    assert isinstance(event, Recorded)
    assert [event.operation] == lines(journal)[1]
    assert event.operation.value == {
        "client": "kafka-python",
        "isolation": "read_committed",
        "records": [[2, [7], ["x"]]],
    }
    journals.close()
