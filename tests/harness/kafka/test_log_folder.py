"""A partition's log on a disk: which files count, where it starts and ends, where damage is."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.kafka.segments import log_folder
from harness.kafka.segments.batches import BAD_CHECKSUM, REASONS, Damage, Tail
from harness.kafka.segments.compiled import SearchEnd
from harness.kafka.segments.log_folder import START_CHECKPOINT, FolderDamage, read_log
from tests.harness.fakes.segments import batch, write_log

FIRST, SECOND, THIRD = batch(10), batch(11, [b"x", b"y"]), batch(13, leader_epoch=2)


def test_segments_follow_each_other_and_other_files_do_not_count(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "log-0-3", {10: FIRST + SECOND, 13: THIRD})
    for name in ("00000000000000000000.log.deleted", "00000000000000000013.log.swap", "13.txt", "x.log"):
        (folder / name).write_bytes(b"\xff" * 100)

    log = read_log(folder)

    assert log.columns["base_offset"].tolist() == [10, 11, 13]
    assert (log.start, log.end) == (10, 14)
    assert log.files == ("00000000000000000010.log", "00000000000000000013.log")
    assert log.size == len(FIRST + SECOND + THIRD)
    assert log.topic_id == "pl2yURLxReyXmuf8pnFOsg"
    assert (log.damage, log.tail) == ((), None)


def test_the_checkpoint_moves_the_start(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "my-log-3", {10: FIRST + SECOND}, topic_id=None)
    (tmp_path / START_CHECKPOINT).write_text("0\n3\nmy-log 3 12\nmy-log 4 99\nother 3 99\n")

    log = read_log(folder)

    assert log.start == 12
    assert log.topic_id is None


def test_a_checkpoint_from_before_the_first_segment_does_not(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "log-0-3", {10: FIRST})
    (tmp_path / START_CHECKPOINT).write_text("0\n1\nlog-0 3 4\n")

    assert read_log(folder).start == 10


def test_what_the_checkpoint_had_before_the_segments_were_listed_counts(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "log-0-3", {10: FIRST + SECOND, 13: THIRD})
    checkpoint = tmp_path / START_CHECKPOINT
    checkpoint.write_text("0\n1\nlog-0 3 13\n")

    def read(path: Path) -> bytes:
        checkpoint.write_text("0\n0\n")  # the node deletes the first segment, after its name was listed
        return path.read_bytes()

    assert read_log(folder, read).start == 13


def test_an_empty_log_ends_where_it_begins(tmp_path: Path) -> None:
    log = read_log(write_log(tmp_path / "log-0-0", {42: b""}))

    assert (log.start, log.end, log.size, len(log.columns["crc"])) == (42, 42, 0, 0)


def test_an_empty_last_segment_is_no_end_of_its_own(tmp_path: Path) -> None:
    assert read_log(write_log(tmp_path / "log-0-0", {10: FIRST + SECOND, 13: b""})).end == 13


def test_only_the_last_segment_may_end_in_a_torn_batch(tmp_path: Path) -> None:
    torn = SECOND[:-5]
    log = read_log(write_log(tmp_path / "log-0-0", {10: FIRST + torn, 13: THIRD + torn}))

    (first, last) = log.files
    assert log.damage == (FolderDamage(first, Damage(len(FIRST), None, REASONS[SearchEnd.CUT])),)
    assert log.tail == (last, Tail(len(THIRD), len(torn), "cut"))


def test_damage_is_reported_with_its_file(tmp_path: Path) -> None:
    changed = bytearray(THIRD)
    changed[-1] ^= 1
    log = read_log(write_log(tmp_path / "log-0-0", {10: FIRST, 13: bytes(changed)}))

    assert log.damage == (FolderDamage(log.files[1], Damage(0, 13, BAD_CHECKSUM)),)
    assert log.end == 14


def test_a_segment_deleted_while_it_is_read_is_not_missed(tmp_path: Path) -> None:
    folder = write_log(tmp_path / "log-0-0", {10: FIRST, 11: SECOND})
    seen: list[str] = []

    def read(path: Path) -> bytes:
        seen.append(path.name)
        if len(seen) == 1:
            path.unlink()
        return path.read_bytes()

    log = read_log(folder, read)

    assert log.columns["base_offset"].tolist() == [11]
    assert log.start == 11


def test_without_a_segment_there_is_no_log(tmp_path: Path) -> None:
    (tmp_path / "log-0-0").mkdir()

    with pytest.raises(FileNotFoundError, match="no segment"):
        read_log(tmp_path / "log-0-0")


def test_segments_that_are_being_replaced_are_awaited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_log(tmp_path / "log-0-0", {10: FIRST, 13: THIRD})
    first = folder / "00000000000000000010.log"
    swap = first.rename(folder / "00000000000000000010.log.swap")
    # Not the function in the module time: threads that other tests left behind call that, too.
    monkeypatch.setattr(log_folder, "time", SimpleNamespace(sleep=lambda _: swap.rename(first)))

    assert read_log(folder).columns["base_offset"].tolist() == [10, 13]
