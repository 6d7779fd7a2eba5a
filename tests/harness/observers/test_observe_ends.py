"""Ends of replicas' logs, read from files that grow, roll, are truncated, vanish and are damaged."""

import errno
import struct
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from harness.kafka.segments.growing import LogEnd
from harness.observers.ends import LogEndsObserver
from harness.observers.observer import Observer
from harness.record.journal import Clock, Journals
from tests.harness.recorded import recorded

FIRST = "00000000000000000000.log"


def batch(base: int, count: int = 1, size: int = 61) -> bytes:
    """A batch whose header is as Kafka writes it, with records of no content."""
    head = struct.pack(">qiib4sHi", base, size - 12, 0, 2, b"", 0, count - 1)
    return head.ljust(size, b"\x01")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    folder = tmp_path / "disk" / "log-0-1"
    folder.mkdir(parents=True)
    return folder


def put(log: Path, *batches: bytes, segment: str = FIRST) -> None:
    (log / segment).write_bytes(b"".join(batches))


def append(log: Path, content: bytes, segment: str = FIRST) -> None:
    with (log / segment).open("ab") as file:
        file.write(content)


def test_it_reads_on_as_the_file_grows(log: Path) -> None:
    end = LogEnd(log)
    assert end.read() is None
    put(log)
    assert end.read() == 0
    append(log, batch(0) + batch(1, 5, 200))
    assert end.read() == 6
    append(log, batch(6)[:30])
    assert end.read() == 6
    append(log, batch(6)[30:] + batch(7, 2, 90)[:89])
    assert end.read() == 7
    append(log, batch(7, 2, 90)[89:])
    assert end.read() == end.read() == 9


def test_the_newest_segment_counts(log: Path) -> None:
    put(log, batch(0, 7))
    end = LogEnd(log)
    assert end.read() == 7
    put(log, segment="00000000000000000007.log")
    (log / "00000000000000000007.index").touch()
    (log / "00000000000000000099.log.deleted").touch()
    assert end.read() == 7
    append(log, batch(7), "00000000000000000007.log")
    assert end.read() == 8
    (log / "00000000000000000007.log").unlink()
    assert end.read() == 7


@pytest.mark.parametrize("size", [100, 150, 400])
def test_a_log_that_was_truncated_and_written_on(log: Path, size: int) -> None:
    put(log, *(batch(base, 1, 100) for base in range(5)))
    end = LogEnd(log)
    assert end.read() == 5
    put(log, batch(0, 1, 100), *(batch(base, 1, size) for base in range(1, 4)))
    assert end.read() == 4
    append(log, batch(4))
    assert end.read() == 5


def test_a_damaged_batch_ends_what_can_be_read(log: Path) -> None:
    put(log, batch(0, 3), bytes(100))
    end = LogEnd(log)
    assert [end.read(), end.read()] == [3, 3]


def test_a_log_that_is_truncated_while_it_is_read(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(log, batch(0), batch(1))
    monkeypatch.setattr("os.pread", lambda _file, size, position: batch(0)[:size] if position == 0 else b"")
    assert LogEnd(log).read() == 1


def test_a_segment_that_vanishes_while_it_is_looked_for(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(log, batch(0))
    end = LogEnd(log)
    monkeypatch.setattr("os.open", fails(errno.ENOENT))
    assert end.read() is None
    monkeypatch.setattr("os.open", fails(errno.EIO))
    assert end.read() is None
    monkeypatch.setattr("os.open", fails(errno.EACCES))
    with pytest.raises(PermissionError):
        end.read()


def test_a_disk_without_power_is_left_out_and_another_defect_is_none(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(log, batch(0))
    monkeypatch.setattr("os.listdir", fails(errno.EIO))
    assert LogEnd(log).read() is None
    monkeypatch.setattr("os.listdir", fails(errno.EACCES))
    with pytest.raises(PermissionError):
        LogEnd(log).read()


def fails(code: int) -> Callable[..., NoReturn]:
    def fail(*_: object) -> NoReturn:
        raise OSError(code, "an error of the disk")

    return fail


def test_ends_are_read_of_partition_folders_on_all_disks(
    tmp_path: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Observer.record_changes, "__defaults__", (None,))  # nothing is recorded again
    put(log, batch(0, 4))
    second = tmp_path / "second"
    for name in ("log-0-0", "log-0-x", "other-0", "log-0-2.abc-delete", "log-0-3-future"):
        (second / name).mkdir(parents=True)
        put(second / name, batch(0, 2))
    disks = {"b1": (tmp_path / "disk", second), "b2": (tmp_path / "gone",), "b3": (tmp_path / "disk",)}
    journals = Journals(tmp_path, "run", Clock())
    observer = LogEndsObserver(journals, disks, ["log-0"], 0.01)
    observer.look()
    observer.look()
    append(log, batch(4))
    observer.look()
    journals.close()
    ends = [one for one in recorded(tmp_path, "observer-ends") if one.key == "ends"]
    assert [one.value["nodes"] for one in ends] == [
        {"b1": {"log-0": [[1, 4], [0, 2]]}, "b3": {"log-0": [[1, 4]]}},
        {"b1": {"log-0": [[1, 5], [0, 2]]}, "b3": {"log-0": [[1, 5]]}},
    ]
    assert all(one.value["began_ns"] <= one.time_ns for one in ends)
