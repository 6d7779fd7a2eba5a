"""Control records of metadata logs: read from bytes that Kafka could have written, compared between nodes."""

from pathlib import Path
from typing import Any

import pytest

from harness.administration.control_records import (
    ControlRecord,
    Difference,
    NodeControlRecords,
    control_records,
    first_difference,
    read_metadata_log,
)
from harness.kafka.segments.compiled import HEADER_BYTES
from tests.harness.fakes.control_records import ONE, TWO, change, kraft_version, voters
from tests.harness.fakes.segments import batch, checked, control_batch, write_log

CHANGE, HEADER, FOOTER, VERSION, VOTERS = 2, 3, 4, 5, 6
SNAPSHOT = "00000000000000000007-0000000002.checkpoint"


def content(*ids: int) -> dict[str, Any]:
    return {
        "voters": [
            {
                "id": each,
                "directory_id": TWO,
                "endpoints": [["CONTROLLER", f"h{each}", 9093]],
                "kraft_versions": [0, 1],
            }
            for each in ids
        ]
    }


def metadata_log(
    folder: Path, segments: dict[int, bytes], snapshot: bytes | None = None
) -> NodeControlRecords:
    write_log(folder, segments)
    if snapshot is not None:
        (folder / SNAPSHOT).write_bytes(snapshot)
    return read_metadata_log(folder)


def test_control_records_are_decoded_and_snapshots_papers_left_out() -> None:
    data = b"".join(
        (
            control_batch(0, HEADER, b"\0\0"),
            control_batch(1, CHANGE, change(101, 101, 102), leader_epoch=3),
            batch(2, [b"metadata", b"more"], leader_epoch=3),
            control_batch(4, VERSION, kraft_version(1), leader_epoch=3),
            control_batch(5, VOTERS, voters(101, 102), leader_epoch=4),
            control_batch(6, FOOTER, b"\0\0"),
        )
    )

    assert list(control_records(data)) == [
        ControlRecord(
            1,
            3,
            "LEADER_CHANGE",
            {"leader_id": 101, "voters": [[101, None], [102, None]], "granting_voters": [[101, None]]},
        ),
        ControlRecord(4, 3, "KRAFT_VERSION", {"kraft_version": 1}),
        ControlRecord(5, 4, "KRAFT_VOTERS", content(101, 102)),
    ]


def test_the_second_version_of_a_leader_change_has_directory_ids() -> None:
    (record,) = control_records(control_batch(0, CHANGE, change(1, 1, 2, version=1)))

    assert record.content == {
        "leader_id": 1,
        "voters": [[1, ONE], [2, ONE]],
        "granting_voters": [[1, ONE]],
    }


@pytest.mark.parametrize(
    "value", [b"", b"\0", b"\0\x09\0\0", voters(101)[:9], b"\0\0\x05"], ids=lambda value: value.hex()
)
def test_a_record_that_can_not_be_decoded_is_reported(value: bytes) -> None:
    (record,) = control_records(control_batch(7, VOTERS, value))

    assert (record.offset, record.kind, record.content) == (7, "KRAFT_VOTERS", None)
    assert record.error


def test_a_kind_of_the_future_keeps_its_number() -> None:
    (record,) = control_records(control_batch(7, 9, b"\0\0"))

    assert (record.kind, record.content, record.error) == ("CONTROL_9", None, None)


def test_a_record_of_a_newer_version_is_reported() -> None:
    (record,) = control_records(control_batch(7, VOTERS, b"\0\x09\0\0"))

    assert (record.kind, record.content, record.error) == ("KRAFT_VOTERS", None, "version 9 is not known")


@pytest.mark.parametrize(("count", "what"), [(2, "cut short"), (0, "after the last record")])
def test_a_batch_whose_records_can_not_be_separated_is_reported(count: int, what: str) -> None:
    data = bytearray(control_batch(7, VERSION, kraft_version(1), leader_epoch=3))
    data[HEADER_BYTES - 4 : HEADER_BYTES] = count.to_bytes(4, "big")

    *_, record = control_records(checked(bytes(data)))

    assert (record.offset, record.epoch, record.kind, record.content) == (7, 3, "CONTROL", None)
    assert record.error
    assert what in record.error


def test_a_log_is_read_over_segments_with_its_snapshots(tmp_path: Path) -> None:
    first = control_batch(5, CHANGE, change(1, 1), leader_epoch=1) + batch(6, [b"a"], leader_epoch=1)
    second = batch(7, [b"b", b"c"], leader_epoch=2) + control_batch(9, VOTERS, voters(1, 2), leader_epoch=2)
    half = batch(10, [b"half"], leader_epoch=2)[:-3]
    log = metadata_log(tmp_path / "log", {5: first, 7: second + half}, control_batch(0, VOTERS, voters(1)))

    assert (log.start, log.end, log.error, log.damage) == (5, 10, None, ())
    assert [(record.offset, record.kind) for record in log.records] == [
        (5, "LEADER_CHANGE"),
        (9, "KRAFT_VOTERS"),
    ]
    assert [record.content for record in log.snapshots[SNAPSHOT]] == [content(1)]
    assert log.epochs == ((1, 5), (2, 7))
    assert [log.epoch_at(offset) for offset in (4, 5, 6, 7, 9, 10)] == [-1, 1, 1, 2, 2, -1]


def test_an_empty_log_ends_where_it_starts(tmp_path: Path) -> None:
    log = metadata_log(tmp_path / "log", {40: b""})

    assert (log.start, log.end, log.records, log.epochs) == (40, 40, (), ())


def test_damage_is_reported(tmp_path: Path) -> None:
    broken = bytearray(control_batch(0, VOTERS, voters(1)))
    broken[-1] ^= 1
    log = metadata_log(tmp_path / "log", {0: bytes(broken)})

    ((file, position, reason),) = log.damage
    assert (file, position, log.records) == ("00000000000000000000.log", 0, ())
    assert "CRC" in reason


def test_a_folder_without_a_log_is_reported(tmp_path: Path) -> None:
    assert "No such file" in (read_metadata_log(tmp_path / "gone").error or "")
    assert "no segment" in (read_metadata_log(tmp_path).error or "")


def test_files_that_are_deleted_meanwhile_are_listed_again(tmp_path: Path) -> None:
    write_log(tmp_path / "log", {0: control_batch(0, VOTERS, voters(1))})
    times = []

    def vanishing(path: Path) -> bytes:
        times.append(path)
        if len(times) == 1:
            raise FileNotFoundError(2, "No such file or directory", str(path))
        return path.read_bytes()

    assert len(read_metadata_log(tmp_path / "log", vanishing).records) == 1

    def gone(path: Path) -> bytes:
        raise FileNotFoundError(2, "No such file or directory", str(path))

    assert read_metadata_log(tmp_path / "log", gone).error


def log_of(*records: bytes, start: int = 0, folder: Path) -> NodeControlRecords:
    return metadata_log(folder, {start: b"".join(records)})


def test_nodes_that_agree_differ_nowhere(tmp_path: Path) -> None:
    whole = (control_batch(0, CHANGE, change(1, 1)), batch(1), control_batch(2, VOTERS, voters(1, 2)))
    logs = {
        "c1": log_of(*whole, folder=tmp_path / "c1"),
        "c2": log_of(*whole[:2], folder=tmp_path / "c2"),  # behind
        "b1": log_of(whole[2], start=2, folder=tmp_path / "b1"),  # began with a snapshot
        "b2": NodeControlRecords(error="gone"),
    }

    assert first_difference(logs) is None


def test_a_record_of_another_content_in_one_epoch_is_a_contradiction(tmp_path: Path) -> None:
    logs = {
        "c1": log_of(batch(0), control_batch(1, VOTERS, voters(1)), folder=tmp_path / "c1"),
        "c2": log_of(batch(0), control_batch(1, VOTERS, voters(2)), folder=tmp_path / "c2"),
        "c3": log_of(batch(0), folder=tmp_path / "c3"),
    }
    found = first_difference(logs)

    assert found is not None
    assert (found.snapshot, found.offset, found.epochs) == (None, 1, {"c1": 0, "c2": 0})
    assert [record.content for record in found.seen.values() if record] == [content(1), content(2)]
    assert found.is_contradiction


def test_a_tail_of_another_epoch_is_none(tmp_path: Path) -> None:
    logs = {
        "c1": log_of(control_batch(0, VOTERS, voters(1), leader_epoch=1), folder=tmp_path / "c1"),
        "c2": log_of(batch(0, leader_epoch=2), folder=tmp_path / "c2"),
    }
    found = first_difference(logs)

    assert found is not None
    assert (found.seen["c2"], found.epochs) == (None, {"c1": 1, "c2": 2})
    assert not found.is_contradiction


def test_snapshots_of_one_name_must_be_alike(tmp_path: Path) -> None:
    data = control_batch(0, VERSION, kraft_version(1)) + control_batch(1, VOTERS, voters(1))
    logs = {
        "c1": metadata_log(tmp_path / "c1", {0: b""}, data),
        "c2": metadata_log(tmp_path / "c2", {0: b""}, control_batch(0, VERSION, kraft_version(1))),
        "c3": metadata_log(tmp_path / "c3", {0: b""}),
    }
    found = first_difference(logs)

    assert found is not None
    assert (found.snapshot, found.offset, found.seen["c2"]) == (SNAPSHOT, 1, None)
    assert found.is_contradiction
    assert first_difference({"c1": logs["c1"], "c3": logs["c3"]}) is None


@pytest.mark.parametrize(("others", "differ"), [(None, False), (1, False), (2, True)])
def test_the_snapshot_of_formatting_is_compared_where_it_has_voters(
    tmp_path: Path,
    others: int | None,
    differ: bool,  # noqa: FBT001 - pytest's way
) -> None:
    """Since 4.4.0 a disk that is formatted without initial voters has that snapshot too, without voters."""
    name = "00000000000000000000-0000000000.checkpoint"
    logs = {}
    for node, voter in {"c1": 1, "c2": others}.items():
        data = control_batch(0, VERSION, kraft_version(1))
        if voter is not None:
            data += control_batch(1, VOTERS, voters(voter))
        logs[node] = metadata_log(tmp_path / node, {0: b""})
        (tmp_path / node / name).write_bytes(data)
    logs = {node: read_metadata_log(tmp_path / node) for node in logs}
    assert all(name in log.snapshots for log in logs.values())
    assert (first_difference(logs) is not None) is differ


def test_three_logs_of_two_epochs_contradict_where_two_of_one_epoch_differ() -> None:
    one, other = (ControlRecord(1, 1, "KRAFT_VOTERS", content(each)) for each in (1, 2))
    seen = {"c1": one, "c2": other, "c3": None}

    assert Difference(None, 1, seen, {"c1": 1, "c2": 1, "c3": 2}).is_contradiction
    assert not Difference(
        None, 1, {"c1": one, "c2": one, "c3": None}, {"c1": 1, "c2": 1, "c3": 2}
    ).is_contradiction
