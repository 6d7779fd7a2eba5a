"""What brokers log of cleanings, as Kafka 4.3.1 words it."""

from pathlib import Path
from unittest.mock import MagicMock, create_autospec

import pytest

from checkers.history.logged import CLEANED, LogsCleaned
from harness.cluster.logs import SavedLogs
from harness.evidence import node_logs
from harness.evidence.cleanings import begins, cleanings
from harness.record.journal import Clock, Journal, Recorder

LINE = (
    "2026-11-26T05:05:37.277Z INFO [kafka-log-cleaner-thread-0] Cleaner 0: Building offset map for log {} for"
    " 2 segments in offset range [{}, {}). (org.apache.kafka.storage.internals.log.Cleaner)"
)


def a_recorder() -> MagicMock:
    """One whose clock says 5 ns."""
    recorder: MagicMock = create_autospec(Recorder, instance=True)
    recorder.journal = create_autospec(Journal, instance=True)
    recorder.journal.clock = create_autospec(Clock, instance=True)
    recorder.journal.clock.now_ns.return_value = 5
    return recorder


def cleaning(log: str, begin: int, end: int) -> str:
    return LINE.format(log, begin, end)


def test_of_each_log_the_farthest_counts() -> None:
    lines = (
        cleaning("compacted-0-1", 0, 84),
        cleaning("__consumer_offsets-12", 3, 9),
        cleaning("compacted-0-1", 84, 201),
        cleaning("compacted-0-1", 0, 84),  # anew, after what it had noted was lost
        "Cleaner 0: Building offset map for compacted-0-1...",
    )
    assert [*cleanings("\n".join(lines))] == [("__consumer_offsets", 12, 9, 2), ("compacted-0", 1, 201, 3)]


def test_a_log_without_cleanings_has_none() -> None:
    assert [*cleanings("Starting the log cleaner")] == []


FIRST = (
    "2026-11-26T05:05:01.398Z INFO [main] Registered `kafka:type=kafka.Log4jController` MBean (kafka.utils)"
)


@pytest.mark.parametrize(
    ("lines", "whole"),
    [
        ([], True),
        (["OpenJDK 64-Bit Server VM warning: no such option"], True),
        ([FIRST, cleaning("log-0-0", 0, 7)], True),
        (["a warning", FIRST.replace("`", "")], True),
        ([cleaning("log-0-0", 0, 7)], False),
        (["of a line its end", cleaning("log-0-0", 0, 7), FIRST], False),
    ],
)
def test_a_log_whose_oldest_lines_were_dropped_lacks_its_beginning(lines: list[str], *, whole: bool) -> None:
    assert begins("\n".join(lines)) is whole


def test_of_one_that_lacks_it_no_cleanings_are_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = a_recorder()
    cut_off = {"n1": cleaning("log-0-0", 0, 7).encode()}
    monkeypatch.setattr(node_logs, "save_logs", lambda *_: SavedLogs(cut_off, {}))
    node_logs.gather_logs({}, Path("unread"), recorder)
    assert CLEANED not in {call.args[1] for call in recorder.observe.call_args_list}


def test_of_every_node_it_is_recorded_when_its_log_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    logs = {"n1": f"{FIRST}\n{cleaning('log-0-0', 0, 7)}".encode(), "n2": b""}
    recorder = a_recorder()

    def saved(*_: object) -> SavedLogs:
        recorder.journal.clock.now_ns.return_value = 6
        return SavedLogs(logs, {})

    monkeypatch.setattr(node_logs, "save_logs", saved)
    node_logs.gather_logs({}, Path("unread"), recorder)
    calls = [call for call in recorder.observe.call_args_list if call.args[1] == CLEANED]
    assert [(call.kwargs["node"], call.args[2]) for call in calls] == [
        ("n1", LogsCleaned(5, (("log-0", 0, 7, 2),))),
        ("n2", LogsCleaned(5, ())),
    ]
