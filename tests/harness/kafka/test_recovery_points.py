"""Recovery points that a disk has, beside the ends of the logs that lie on it."""

import os
from pathlib import Path

import pytest

from checkers.history.faults import LogFlushed
from harness.kafka.segments.recovery_points import CHECKPOINT, flushed_logs
from tests.harness.fakes.segments import batch, write_log

WRITTEN_NS = 2_000_000_000_000_000_000
"""When the checkpoint was written."""
FIRST, SECOND = batch(10), batch(11, [b"x", b"y"])


def written(disk: Path, text: str) -> None:
    """A disk whose checkpoint has this text."""
    checkpoint = disk / CHECKPOINT
    checkpoint.write_text(text)
    os.utime(checkpoint, ns=(WRITTEN_NS, WRITTEN_NS))


def placed(disk: Path, name: str, data: bytes = FIRST + SECOND, *, made_ns: int = WRITTEN_NS - 1) -> Path:
    """A log whose folder was made at a time."""
    folder = write_log(disk / name, {10: data})
    os.utime(folder / "partition.metadata", ns=(made_ns, made_ns))
    return folder


def test_each_log_with_a_recovery_point_is_read_to_its_end(tmp_path: Path) -> None:
    placed(tmp_path, "log-0-3")
    placed(tmp_path, "my-log-0", FIRST)
    placed(tmp_path, "other-0")
    written(tmp_path, "0\n3\nlog-0 3 13\nmy-log 0 13\ngone 1 40\n")
    assert flushed_logs(tmp_path) == [LogFlushed("log-0", 3, 13, 13), LogFlushed("my-log", 0, 13, 11)]


def test_half_a_batch_does_not_count(tmp_path: Path) -> None:
    placed(tmp_path, "log-0-3", FIRST + SECOND[:-1])
    written(tmp_path, "0\n1\nlog-0 3 13\n")
    assert flushed_logs(tmp_path) == [LogFlushed("log-0", 3, 13, 11)]


def test_an_empty_segment_ends_where_it_begins(tmp_path: Path) -> None:
    placed(tmp_path, "log-0-3", b"")
    written(tmp_path, "0\n1\nlog-0 3 10\n")
    assert flushed_logs(tmp_path) == [LogFlushed("log-0", 3, 10, 10)]


@pytest.mark.parametrize("later_ns", [0, 1])
def test_a_log_that_is_not_older_than_the_checkpoint_may_be_another_one(
    tmp_path: Path, later_ns: int
) -> None:
    placed(tmp_path, "log-0-3", made_ns=WRITTEN_NS + later_ns)
    written(tmp_path, "0\n1\nlog-0 3 40\n")
    assert flushed_logs(tmp_path) == []


def test_a_log_without_a_topic_s_id_or_without_a_segment_is_left_out(tmp_path: Path) -> None:
    write_log(tmp_path / "log-0-3", {10: FIRST}, topic_id=None)
    papers = placed(tmp_path, "log-0-4") / "partition.metadata"
    papers.write_text("")
    os.utime(papers, ns=(WRITTEN_NS - 1, WRITTEN_NS - 1))
    (placed(tmp_path, "log-0-5") / "00000000000000000010.log").unlink()
    written(tmp_path, "0\n3\nlog-0 3 40\nlog-0 4 40\nlog-0 5 40\n")
    assert flushed_logs(tmp_path) == []


def test_while_another_checkpoint_was_being_written_nothing_is_certain(tmp_path: Path) -> None:
    placed(tmp_path, "log-0-3")
    written(tmp_path, "0\n1\nlog-0 3 40\n")
    (tmp_path / f"{CHECKPOINT}.tmp").write_text("")
    assert flushed_logs(tmp_path) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "0\n",
        "0\n2\nlog-0 3 40\n",
        "1\n1\nlog-0 3 40\n",
        "0\n1\nlog-0 3\n",
        "0\n1\nlog-0 3 -1\n",
        "0\n1\n\n",
    ],
)
def test_a_checkpoint_that_is_not_whole_or_of_another_format_has_no_flushed_logs(
    tmp_path: Path, text: str
) -> None:
    placed(tmp_path, "log-0-3")
    written(tmp_path, text)
    assert flushed_logs(tmp_path) == []


def test_a_disk_without_a_checkpoint_has_no_flushed_logs(tmp_path: Path) -> None:
    placed(tmp_path, "log-0-3")
    assert flushed_logs(tmp_path) == []
