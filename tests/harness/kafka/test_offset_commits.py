"""Commits in batches of the offsets topic: decoded from bytes made by hand, whatever else stands there."""

import struct

import pytest

from harness.kafka.segments.offset_commits import FileChunk, commit_of, read_commits
from tests.harness.fakes.commits import batch, commit, key, value
from tests.harness.fakes.segments import Producer, checked, control_batch, marker, with_attributes

DELETED = key("g", "t", 0), None
OF_A_GROUP = struct.pack(">hh", 2, 1) + b"g", b"\0\3"
"""A record of another type: a group's metadata."""


def rows_of(data: bytes) -> list[object]:
    return [one.rows for one in read_commits(data).batches]


@pytest.mark.parametrize(
    "written",
    [
        "0000 0000000430e23402 00016d 0000018bcfe56800",
        "0001 0000000430e23402 00016d 0000018bcfe56800 ffffffffffffffff",
        "0002 0000000430e23402 00016d 0000018bcfe56800",
        "0003 0000000430e23402 ffffffff 00016d 0000018bcfe56800",
        "0004 0000000430e23402 ffffffff 026d 0000018bcfe56800 00",
    ],
)
def test_what_kafka_4_3_1_writes(written: str) -> None:
    """The bytes are those of its own OffsetCommitKey and OffsetCommitValue, in every version."""
    key_bytes = bytes.fromhex("0001 0009 6772757070652dc3bc 0009 6f6666736574732d30 00000005")
    assert commit_of(key_bytes, bytes.fromhex(written)) == ("gruppe-ü", "offsets-0", 5, 18_000_000_002)


@pytest.mark.parametrize("version", [0, 1])
def test_both_versions_of_the_key(version: int) -> None:
    assert commit_of(key("gr", "to", 2, version=version), value(7)) == ("gr", "to", 2, 7)


@pytest.mark.parametrize("version", range(5))
def test_all_versions_of_the_value_begin_with_the_offset(version: int) -> None:
    assert commit_of(key("g", "t", 2), value(7, version=version)) == ("g", "t", 2, 7)


@pytest.mark.parametrize(("name", "content"), [OF_A_GROUP, (None, b"x"), (struct.pack(">h", -1), b"x")])
def test_records_that_commit_nothing(name: bytes | None, content: bytes | None) -> None:
    assert commit_of(name, content) is None


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (b"\0", value(7)),
        (b"\0\1\0", value(7)),
        (b"\0\1\0\7short", value(7)),
        (b"\0\1\xff\xffx", value(7)),
        (b"\0\1\0\1\xff\0\1t\0\0\0\0", value(7)),
        (key("g", "t", 0)[:-1], value(7)),
        (key("g", "t", -1), value(7)),
        (key("g", "t", -1), None),
        (key("g", "t", 0)[:-1], None),
        (key("g", "t", 0), value(-1)),
        (key("g", "t", 0), value(7, version=5)),
        (key("g", "t", 0), value(7)[:9]),
    ],
)
def test_commits_that_can_not_be_read(name: bytes, content: bytes | None) -> None:
    with pytest.raises(ValueError, match=r"."):
        commit_of(name, content)


def test_rows_with_their_offsets_in_the_log() -> None:
    first = batch(40, commit(7), OF_A_GROUP, commit(8, "h", "u", 3), DELETED, epoch=5)
    part = read_commits(first + batch(44, commit(9), epoch=6))
    assert [one.rows for one in part.batches] == [
        [(40, "g", "t", 0, 7), (42, "h", "u", 3, 8)],
        [(44, "g", "t", 0, 9)],
    ]
    assert [(one.first, one.end, one.leader_epoch, one.whole) for one in part.batches] == [
        (40, 44, 5, True),
        (44, 45, 6, True),
    ]
    assert (part.last, part.size) == (len(first), len(first) + len(batch(44, commit(9))))


@pytest.mark.parametrize("how", ["commit", "abort"])
def test_commits_within_transactions_and_their_ends(how: str) -> None:
    data = batch(0, commit(7), transactional=True) + marker(1, Producer(9, 0, 0), commit=how == "commit")
    read = read_commits(data + batch(2, commit(8))).batches
    assert [(one.rows, one.producer, one.ends) for one in read] == [
        ([(0, "g", "t", 0, 7)], 9, None),
        ([], 9, how),
        ([(2, "g", "t", 0, 8)], None, None),
    ]
    assert all(one.whole for one in read)


@pytest.mark.parametrize("kind", [2, 7])
def test_a_control_record_that_ends_no_transaction(kind: int) -> None:
    (one,) = read_commits(control_batch(0, kind, b"", producer=Producer(9, 0))).batches
    assert (one.rows, one.producer, one.ends) == (None, 9, None)


def test_a_control_record_outside_of_transactions_is_nothing() -> None:
    (one,) = read_commits(control_batch(0, 2, b"")).batches
    assert (one.rows, one.producer, one.ends) == ([], None, None)


def test_an_empty_control_batch_is_none_that_can_be_read() -> None:
    changed = bytearray(marker(0, Producer(9, 0, 0), commit=True)[:61])
    struct.pack_into(">i", changed, 8, len(changed) - 12)
    (one,) = read_commits(checked(changed)).batches
    assert (one.rows, one.ends) == (None, None)


def test_deletions_of_offsets() -> None:
    (one,) = read_commits(batch(3, DELETED, commit(7), (key("h", "u", 4), None))).batches
    assert one.deleted == [(3, "g", "t", 0), (5, "h", "u", 4)]
    assert one.rows == [(4, "g", "t", 0, 7)]


def test_what_is_compressed_or_can_not_be_read_is_distinguished_from_nothing() -> None:
    odd = (key("g", "t", 0), b"\0")
    astray = bytearray(batch(2, commit(7), deltas=(1,)))
    struct.pack_into(">i", astray, 23, 0)
    squeezed = with_attributes(batch(0, commit(7)), 1)
    too_many = bytearray(batch(3, commit(7)))
    struct.pack_into(">i", too_many, 57, 2)
    data = squeezed + batch(1, commit(7), odd) + checked(too_many) + checked(astray)
    assert rows_of(data) == [None, None, None, None]


def test_a_batch_that_compaction_has_thinned() -> None:
    (thinned,) = read_commits(batch(40, commit(7), commit(8), deltas=(1, 4))).batches
    assert thinned.rows == [(41, "g", "t", 0, 7), (44, "g", "t", 0, 8)]
    assert (thinned.first, thinned.end, thinned.whole) == (40, 45, False)


@pytest.mark.parametrize("size", [0, 1, 60, 61, 70])
def test_a_batch_that_is_cut_short(size: int) -> None:
    whole = batch(0, commit(7))
    assert read_commits(batch(1, commit(8))[:size]) == FileChunk([], 0, 0)
    part = read_commits(whole + batch(1, commit(8))[:size])
    assert ([one.first for one in part.batches], part.size) == ([0], len(whole))


def test_a_damaged_batch_ends_what_can_be_read() -> None:
    whole, damaged = batch(0, commit(7)), bytearray(batch(1, commit(8)))
    damaged[-1] ^= 1
    assert read_commits(whole + bytes(damaged) + batch(2, commit(9))).size == len(whole)
    assert read_commits(bytes(damaged)) == FileChunk([], 0, 0)


@pytest.mark.parametrize("content", [b"", b"\x01", b"\x10\0", b"\x7f" * 12, b"\x02\0\0\0\x7f", b"\xff" * 20])
def test_whatever_stands_where_a_record_should_nothing_fails(content: bytes) -> None:
    empty = batch(0, commit(7))[:61]
    changed = bytearray(empty + content)
    struct.pack_into(">i", changed, 8, len(changed) - 12)
    assert rows_of(checked(changed)) == [None]


def test_every_change_of_one_byte_fails_nothing() -> None:
    whole = batch(0, commit(7), commit(8, "h"))
    for place in range(61, len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 0x55
        (one,) = read_commits(checked(changed)).batches
        assert one.end == 2
