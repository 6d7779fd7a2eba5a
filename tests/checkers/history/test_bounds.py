"""Journals that no run writes are refused in a sentence, before they cost time or memory."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from checkers.history import bounds
from checkers.history.reading import HistoryError, read_history
from checkers.history.sends import LARGEST_RUN
from checkers.judge import judge
from checkers.verdict.verdict import Validity
from tests.checkers.conftest import SETUP

HEADER = {"krucible_history": 1, "run": "r", "journal": "worker-0", "began_at": "2026-11-22T20:21:02Z"}
MIB = 1 << 20


def operation(index: int, **others: Any) -> dict[str, Any]:
    return {
        "index": index,
        "time_ns": index,
        "process": 0,
        "type": "invoke",
        "f": "send",
        "key": "t",
    } | others


def write(folder: Path, *lines: Any, name: str = "history-worker-0.jsonl") -> None:
    texts = [json.dumps(line) for line in (HEADER, *lines)]
    (folder / name).write_text("\n".join(texts) + "\n")


def refusal(folder: Path) -> str:
    with pytest.raises(HistoryError) as refused:
        read_history(folder)
    return str(refused.value)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "history-nemesis.jsonl")
    assert "history-nemesis.jsonl: this is a pipe; expected a file" in refusal(tmp_path)


def test_a_device_is_refused(tmp_path: Path) -> None:
    (tmp_path / "history-nemesis.jsonl").symlink_to("/dev/zero")
    assert "this is a device" in refusal(tmp_path)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "history-nemesis.jsonl").mkdir()
    assert "this is a folder" in refusal(tmp_path)


def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("history-nemesis.jsonl")
        assert "this is a socket" in refusal(tmp_path)


def test_a_line_without_an_end_is_refused(tmp_path: Path) -> None:
    write(tmp_path)
    with (tmp_path / "history-worker-0.jsonl").open("ab") as file:
        file.truncate(bounds.LINE_BYTES_MAX * 4)
    assert "history-worker-0.jsonl, line 2: a line of more than 268,435,456 bytes" in refusal(tmp_path)


def test_a_long_journal_of_lines_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "LINE_BYTES_MAX", 1_000)
    monkeypatch.setattr(bounds, "_PIECE_BYTES", 64)
    write(tmp_path, *(operation(i, f="phase", type="ok", key="load") for i in range(100)))
    assert len(read_history(tmp_path).operations) == 100
    write(tmp_path, operation(0, f="phase", type="ok", key="x" * 1_000))
    assert "line 2: a line of more than 1,000 bytes" in refusal(tmp_path)


def test_lines_may_be_nested_too_deeply(tmp_path: Path) -> None:
    write(tmp_path, operation(0, value="DEEP"))
    path = tmp_path / "history-worker-0.jsonl"
    path.write_text(path.read_text().replace('"DEEP"', "[" * 100_000 + "]" * 100_000))
    assert "line 2, column 1: nested too deeply; expected one JSON object" in refusal(tmp_path)


def runs(count: int) -> list[dict[str, Any]]:
    value = {"partition": 0, "count": LARGEST_RUN}
    pairs = [
        (operation(2 * i, value=value | {"first": i}), operation(2 * i + 1, type="fail", value=None))
        for i in range(count)
    ]
    return [one for pair in pairs for one in pair]


def test_short_runs_of_very_many_records_are_refused(tmp_path: Path) -> None:
    write(tmp_path, *runs(1_000))
    message = refusal(tmp_path)
    assert "100,000,000 records are said to be sent, in journals of " in message
    assert "records in journals of that size" in message


@pytest.mark.parametrize("free", [bounds.RECORDS_FREE, 0])
def test_as_many_as_a_run_may_send_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int
) -> None:
    monkeypatch.setattr(bounds, "RECORDS_FREE", free)
    monkeypatch.setattr(bounds, "RECORDS_PER_BYTE_MAX", 1_000)
    write(tmp_path, *runs(50))
    assert len(read_history(tmp_path).operations) == 100


def test_more_partitions_than_a_cluster_has_are_refused(tmp_path: Path) -> None:
    topics = [{"name": f"t{i}", "partitions": 1_000_000} for i in range(200)]
    write(tmp_path, operation(0, f="setup", type="ok", key=None, value={"topics": topics}))
    assert "setup (ok): Expected at most 200,000 partitions, got 200,000,000" in refusal(tmp_path)


def test_of_partitions_of_which_nothing_is_recorded_little_is_reported(tmp_path: Path) -> None:
    """An eighth of those that a set-up may have, for tests are traced."""
    topics = [{"name": f"t{i}", "partitions": bounds.PARTITIONS_MAX // 800} for i in range(100)]
    value = SETUP | {"topics": topics, "scenario": "many", "evidence": ["replicas", "metadata-log"]}
    write(tmp_path, operation(0, f="setup", type="ok", key=None, value=value))
    verdict = judge(read_history(tmp_path))
    assert verdict.validity is Validity.UNKNOWN
    assert len("".join(verdict.reasons)) < 10_000


def test_what_is_refused_costs_no_memory(tmp_path: Path) -> None:
    """By the peak of a process of its own, which reads all of them."""
    for name in ("line", "runs", "deep"):
        (tmp_path / name).mkdir()
    test_a_line_without_an_end_is_refused(tmp_path / "line")
    test_short_runs_of_very_many_records_are_refused(tmp_path / "runs")
    test_lines_may_be_nested_too_deeply(tmp_path / "deep")
    folders = [str(tmp_path / name) for name in ("line", "runs", "deep")]
    code = (
        "import sys, pathlib\nfrom checkers.history.reading import HistoryError, read_history\n"
        "for folder in sys.argv[1:]:\n"
        "    try:\n        read_history(pathlib.Path(folder))\n"
        "    except HistoryError as error:\n        print(error)\n"
        "print(open('/proc/self/status').read().partition('VmHWM:')[2].split()[0])\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code, *folders], capture_output=True, text=True, check=True
    )
    *refusals, peak_kib = finished.stdout.splitlines()
    assert len(refusals) == 3
    assert int(peak_kib) * 1024 < 300 * MIB
