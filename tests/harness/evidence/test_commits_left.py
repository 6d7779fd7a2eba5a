"""What compaction has left of the offsets topic, read on the brokers' disks at the end."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from checkers.history.operations import Operation
from harness.evidence import commits_left
from harness.evidence.commits_left import gather_commits_left, left_of
from harness.evidence.replicas import Reading, read_disk
from harness.record.journal import Clock, Journals, Recorder
from tests.harness.fakes.commits import batch, commit
from tests.harness.fakes.segments import Producer, marker, write_log
from tests.harness.recorded import recorded

TOPIC = "__consumer_offsets"


def gathered(tmp_path: Path, *nodes: str) -> list[Operation]:
    """What is recorded of the disks of some nodes."""
    journals = Journals(tmp_path, "run", Clock())
    disks: dict[str, Sequence[Path]] = {node: (tmp_path / node, tmp_path / f"{node}-2") for node in nodes}
    gather_commits_left(Recorder(journals.open("replicas"), "observer-replicas"), disks)
    journals.close()
    return [one for one in recorded(tmp_path, "replicas") if one.f == "observe"]


def left(operations: Sequence[Operation]) -> dict[str, list[list[int]]]:
    return {one.node or "": one.value["left"] for one in operations if one.key == "commits-left"}


def test_which_records_are_left_and_the_end_of_the_farthest_log(tmp_path: Path) -> None:
    thinned = batch(0, commit(7), commit(8), deltas=(1, 4))
    data = batch(5, commit(9), commit(10)) + marker(7, Producer(9, 0, 0), commit=True)
    active = batch(8, commit(11), epoch=2)
    write_log(tmp_path / "b1" / f"{TOPIC}-3", {0: thinned + data, 8: active})
    write_log(tmp_path / "b2-2" / f"{TOPIC}-3", {0: thinned + data})
    write_log(tmp_path / "b1" / f"{TOPIC}-4", {0: b""})
    write_log(tmp_path / "b1" / "log-0-0", {0: data})
    observed = gathered(tmp_path, "b1", "b2", "b3")
    assert [one.value | {"began_ns": 0} for one in observed] == [
        {
            "began_ns": 0,
            "partition": 3,
            "log_start": 0,
            "end": 9,
            "epoch": 2,
            "active": 8,
            "left": [[1, 2], [4, 7], [8, 9]],
            "error": None,
        },
        {
            "began_ns": 0,
            "partition": 3,
            "log_start": 0,
            "end": 8,
            "epoch": 0,
            "active": 0,
            "left": [[1, 2], [4, 7]],
            "error": None,
        },
        {
            "began_ns": 0,
            "stretches": [
                [3, 0, 5, 8, 0, [[5, "g", "t", 0, 9], [6, "g", "t", 0, 10]]],
                [3, 2, 8, 9, 0, [[8, "g", "t", 0, 11]]],
            ],
            "deleted": [],
            "transactional": [[3, 0, 7, 9, "commit", []]],
            "groups": [],
        },
    ]
    assert [(one.key, one.node) for one in observed] == [
        ("commits-left", "b1"),
        ("commits-left", "b2"),
        ("commits", None),
    ]


def test_a_log_of_which_compaction_took_something_at_its_very_end(tmp_path: Path) -> None:
    write_log(tmp_path / "b1" / f"{TOPIC}-0", {0: batch(0, commit(7), deltas=(1,))})
    (observed,) = gathered(tmp_path, "b1")
    assert (observed.key, observed.value["left"], observed.value["end"]) == ("commits-left", [[1, 2]], 2)


def test_of_a_long_log_the_end_alone_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits_left, "BATCHES_RECORDED_MAX", 2)
    write_log(tmp_path / "b1" / f"{TOPIC}-0", {0: b"".join(batch(n, commit(n)) for n in range(5))})
    _, observed = gathered(tmp_path, "b1")
    assert [stretch[2:5] for stretch in observed.value["stretches"]] == [[3, 5, 0]]


def test_a_log_that_can_not_be_read(tmp_path: Path) -> None:
    (tmp_path / "b1" / f"{TOPIC}-0").mkdir(parents=True)
    (observed,) = gathered(tmp_path, "b1")
    assert "FileNotFoundError" in observed.value["error"]


def put(folder: Path, data: bytes) -> Path:
    return write_log(folder / f"{TOPIC}-0", {0: data})


def test_a_log_that_is_damaged(tmp_path: Path) -> None:
    data = bytearray(batch(0, commit(7)) + batch(1, commit(8)))
    data[70] ^= 1
    put(tmp_path / "b1", bytes(data))
    (observed,) = gathered(tmp_path, "b1")
    assert (observed.value["left"], observed.value["error"]) == ([], f"{0:020}.log is damaged")


def test_records_that_lie_too_far_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commits_left, "STRETCHES_MAX", 1)
    put(tmp_path / "b1", batch(0, commit(7), commit(8), deltas=(1, 4)))
    (observed,) = gathered(tmp_path, "b1")
    assert (observed.value["left"], observed.value["error"]) == ([], "records lie in more than 1 stretches")


def test_a_batch_of_which_nobody_can_say_what_is_left(tmp_path: Path) -> None:
    folder = put(tmp_path / "b1", batch(0, commit(7), commit(8), deltas=(1, 4)))
    reading = read_disk(folder, lambda: 5)
    assert reading.log is not None
    unknown = reading.log._replace(left=None)
    assert left_of(0, folder, Reading(5, unknown)).error == "it is unknown which records of a batch are left"


def test_a_folder_that_went_after_it_was_read(tmp_path: Path) -> None:
    folder = put(tmp_path / "b1", batch(0, commit(7)))
    reading = read_disk(folder, lambda: 5)
    assert "FileNotFoundError" in (left_of(0, tmp_path / "gone", reading).error or "")


def test_segments_that_are_being_replaced_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = put(tmp_path / "b1", batch(0, commit(7)))
    readings: list[int] = []

    def rolling(where: Path, *_: Any) -> Reading:
        reading = read_disk(where, lambda: 5)
        readings.append(len(readings))
        if len(readings) == 1:
            write_log(folder, {1: batch(1, commit(8))})
        return reading

    monkeypatch.setattr(commits_left, "read_disk", rolling)
    assert left(gathered(tmp_path, "b1")) == {"b1": [[0, 2]]}
    assert len(readings) == 2


def test_segments_that_are_replaced_all_the_time(tmp_path: Path) -> None:
    folder = put(tmp_path / "b1", batch(0, commit(7)))
    (folder / f"{0:020}.log.swap").write_bytes(b"")
    (observed,) = gathered(tmp_path, "b1")
    assert (observed.value["left"], observed.value["error"]) == ([], "segments are being replaced")
