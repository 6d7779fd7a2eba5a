"""Commits read on the brokers' disks: from logs that grow, roll, are cleaned, truncated and damaged."""

import errno
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from checkers.history.fitting import misfit_of
from harness.kafka.segments import commits_log
from harness.kafka.segments.commits_log import CommitsLog
from harness.observers.commits import CommitsObserver
from harness.record.journal import Clock, Journals
from tests.harness.fakes.commits import batch, commit
from tests.harness.fakes.group_records import TOPIC_ID, assigned, epoch, group_key, member_key
from tests.harness.fakes.segments import Producer, marker, with_attributes
from tests.harness.recorded import recorded

FIRST, SECOND = "00000000000000000000.log", "00000000000000000002.log"
TOPIC = "__consumer_offsets"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    folder = tmp_path / "disk" / f"{TOPIC}-1"
    folder.mkdir(parents=True)
    return folder


def put(log: Path, *batches: bytes, segment: str = FIRST) -> None:
    (log / segment).write_bytes(b"".join(batches))


def append(log: Path, content: bytes, segment: str = FIRST) -> None:
    with (log / segment).open("ab") as file:
        file.write(content)


def read(log: CommitsLog) -> list[tuple[int, int, int | None]]:
    """First offset and end of each batch, and the epoch of what stands before it."""
    return [(one.batch.first, one.batch.end, one.before) for one in log.read()]


def test_it_reads_on_as_the_log_grows_and_rolls(log: Path) -> None:
    reader = CommitsLog(log)
    assert read(reader) == []
    put(log)
    assert read(reader) == []
    append(log, batch(0, commit(7)) + batch(1, commit(8))[:30])
    assert read(reader) == [(0, 1, -1)]
    append(log, batch(1, commit(8))[30:])
    put(log, batch(2, commit(9), commit(10), epoch=3), segment=SECOND)
    assert read(reader) == [(1, 2, 0), (2, 4, 0)]
    append(log, batch(4, commit(11), epoch=3), SECOND)
    assert read(reader) == [(4, 5, 3)]
    assert read(reader) == []


def test_after_a_gap_the_earlier_content_is_unknown(log: Path) -> None:
    put(log, batch(0, commit(7)))
    put(log, batch(2, commit(8)), segment=SECOND)
    assert read(CommitsLog(log)) == [(0, 1, -1), (2, 3, None)]


def test_a_log_that_was_truncated_and_written_on(log: Path) -> None:
    put(log, *(batch(offset, commit(offset)) for offset in range(3)))
    reader = CommitsLog(log)
    assert len(read(reader)) == 3
    put(log, batch(0, commit(0)), batch(1, commit(7), epoch=1))
    assert read(reader) == [(0, 1, -1), (1, 2, 0)]
    assert read(reader) == []


def test_a_segment_that_was_replaced_while_it_was_read(log: Path) -> None:
    put(log, batch(0, commit(7)), batch(1, commit(8)))
    reader = CommitsLog(log)
    read(reader)
    cleaned = log / "new"
    cleaned.write_bytes(batch(0, commit(8), deltas=(1,)))
    cleaned.rename(log / FIRST)
    put(log, batch(2, commit(9)), segment=SECOND)
    assert read(reader) == [(0, 2, -1), (2, 3, 0)]


def test_a_log_that_is_made_anew_is_read_from_its_beginning(log: Path) -> None:
    put(log, batch(0, commit(7)))
    put(log, batch(2, commit(8)), segment=SECOND)
    reader = CommitsLog(log)
    assert len(read(reader)) == 2
    (log / SECOND).unlink()
    assert read(reader) == [(0, 1, -1)]


def test_more_than_is_read_at_once(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = batch(0, commit(7))
    monkeypatch.setattr(commits_log, "READ_BYTES_MAX", len(one))
    put(log, *(batch(offset, commit(7)) for offset in range(4)))
    assert read(CommitsLog(log)) == [(0, 1, -1), (1, 2, 0), (2, 3, 0), (3, 4, 0)]


def fails(code: int) -> Callable[..., NoReturn]:
    def fail(*_: object) -> NoReturn:
        raise OSError(code, "an error of the disk")

    return fail


def test_a_segment_that_vanishes_and_a_disk_without_power(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(log, batch(0, commit(7)))
    reader = CommitsLog(log)
    with monkeypatch.context() as broken:
        broken.setattr("os.open", fails(errno.ENOENT))
        assert read(reader) == []
        broken.setattr("os.open", fails(errno.EIO))
        assert read(reader) == []
        broken.setattr("os.open", fails(errno.EACCES))
        with pytest.raises(PermissionError):
            reader.read()
    assert read(reader) == [(0, 1, -1)]


def test_commits_of_replicas_are_recorded_once(tmp_path: Path, log: Path) -> None:
    put(log, batch(0, commit(7)), batch(1, commit(8), epoch=1), batch(2, commit(9), epoch=1))
    second = tmp_path / "second"
    for name in (f"{TOPIC}-1", f"{TOPIC}-2", f"{TOPIC}-3.abc-delete", "log-0-1"):
        (second / name).mkdir(parents=True)
        put(second / name, batch(0, commit(7)), batch(1, commit(8), epoch=1))
    put(second / f"{TOPIC}-2", batch(0, commit(5), deltas=(1,)), batch(2, (b"\0\1", b"")))
    journals = Journals(tmp_path, "run", Clock())
    observer = CommitsObserver(journals, {"b1": (tmp_path / "disk",), "b2": (second, tmp_path / "gone")}, 1)
    observer.look()
    observer.look()
    append(second / f"{TOPIC}-1", batch(2, commit(9), epoch=1) + batch(3, commit(10), epoch=1))
    observer.look()
    journals.close()
    commits = [one for one in recorded(tmp_path, "observer-commits") if one.key == "commits"]
    assert [one.value["stretches"] for one in commits] == [
        [
            [1, 0, 0, 1, -1, [[0, "g", "t", 0, 7]]],
            [1, 1, 1, 3, 0, [[1, "g", "t", 0, 8], [2, "g", "t", 0, 9]]],
            [2, 0, 2, 3, 0, None],
        ],
        [[1, 1, 3, 4, 1, [[3, "g", "t", 0, 10]]]],
    ]
    assert all(one.value["began_ns"] <= one.time_ns for one in commits)


def test_deletions_and_transactions_are_recorded_beside_the_stretches(tmp_path: Path, log: Path) -> None:
    deleted = (commit(0)[0], None)
    who = Producer(9, 0, 0)
    inside = batch(2, commit(8), transactional=True)
    put(log, batch(0, commit(7)), batch(1, deleted), inside, marker(3, who, commit=False))
    squeezed = with_attributes(batch(4, commit(9), transactional=True), 1)
    append(log, squeezed + marker(5, who, commit=True))
    journals = Journals(tmp_path, "run", Clock())
    CommitsObserver(journals, {"b1": (tmp_path / "disk",)}, 1).look()
    journals.close()
    (observed,) = (one for one in recorded(tmp_path, "observer-commits") if one.key == "commits")
    assert observed.value | {"began_ns": 0} == {
        "began_ns": 0,
        "stretches": [[1, 0, 0, 6, -1, [[0, "g", "t", 0, 7]]]],
        "deleted": [[1, 0, 1, "g", "t", 0]],
        "transactional": [
            [1, 0, 2, 9, "data", [[2, "g", "t", 0, 8]]],
            [1, 0, 3, 9, "abort", []],
            [1, 0, 4, 9, "data", None],
            [1, 0, 5, 9, "commit", []],
        ],
        "groups": [],
    }


def test_records_of_groups_are_recorded_beside_the_stretches(tmp_path: Path, log: Path) -> None:
    member = member_key("g", "m")
    put(log, batch(0, commit(7), (group_key("g"), epoch(5))), batch(2, (member, assigned(5, {4: 2}))))
    append(log, batch(3, (member, None), (member, b"\0\1"), epoch=1))
    journals = Journals(tmp_path, "run", Clock())
    CommitsObserver(journals, {"b1": (tmp_path / "disk",)}, 1).look()
    journals.close()
    (observed,) = (one for one in recorded(tmp_path, "observer-commits") if one.key == "commits")
    assert misfit_of(observed) is None
    assert observed.value["stretches"] == [[1, 0, 0, 3, -1, [[0, "g", "t", 0, 7]]], [1, 1, 3, 5, 0, []]]
    assert observed.value["groups"] == [
        [1, 0, 1, "group", "g", "", 5, []],
        [1, 0, 2, "member", "g", "m", 5, [[TOPIC_ID, 4, 2]]],
        [1, 1, 3, "member", "g", "m", None, []],
        [1, 1, 4, "unreadable", "", "", None, []],
    ]
