"""Indexes of aborted transactions are read as Kafka writes them, and from broken files as far as possible."""

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checkers.history.replicas import AbortedTransaction, SegmentIndex
from harness.kafka.segments.transaction_index import ENTRY, decode_index, read_indexes

OFFSETS = st.integers(0, 2**62)
ONE, TWO = AbortedTransaction(7, 100, 104, 103), AbortedTransaction(8, 103, 110, 111)


def encoded(entries: Sequence[Sequence[int]], version: int = 0) -> bytes:
    """Entries as Kafka's AbortedTxn puts them into a buffer, field by field."""
    return b"".join(struct.pack(">hqqqq", version, *entry) for entry in entries)


def test_the_bytes_of_an_entry() -> None:
    entry = bytes.fromhex("0000 00000000000003e8 0000000000000002 0000000000000009 000000000000000a")
    assert len(entry) == ENTRY.itemsize == 34
    assert decode_index(entry, 0) == SegmentIndex(0, [AbortedTransaction(1000, 2, 9, 10)])


@st.composite
def aborted(draw: st.DrawFn) -> AbortedTransaction:
    first = draw(st.integers(0, 2**62 - 1))
    return AbortedTransaction(draw(OFFSETS), first, draw(st.integers(first + 1, 2**62)), draw(OFFSETS))


@given(st.lists(aborted()))
def test_all_entries_are_read_again(entries: list[AbortedTransaction]) -> None:
    assert decode_index(encoded(entries), 0) == SegmentIndex(0, entries)


@given(st.lists(aborted(), min_size=1), st.integers(1, 33), st.binary(max_size=80))
def test_what_comes_before_damage_is_read(entries: list[AbortedTransaction], cut: int, rest: bytes) -> None:
    torn = decode_index(encoded(entries)[:-cut], 0)
    assert torn.entries == entries[:-1]
    assert torn.problem == f"entry {len(entries)} is incomplete or damaged (bytes from there on: {34 - cut})"
    assert decode_index(encoded(entries) + b"\xff" + rest, 0).entries == entries


@given(st.binary(max_size=200), OFFSETS)
def test_any_bytes_are_read(data: bytes, segment: int) -> None:
    found = decode_index(data, segment)
    assert data.startswith(encoded(found.entries))
    assert (found.problem is None) == (data == encoded(found.entries))


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(encoded([TWO], version=1), id="a later version"),
        pytest.param(encoded([(-1, 103, 110, 111)]), id="no producer"),
        pytest.param(encoded([(8, 110, 110, 111)]), id="no record before the marker"),
        pytest.param(encoded([(8, 90, 99, 100)]), id="ended before the segment"),
        pytest.param(encoded([(8, 103, 110, 2**62 + 1)]), id="an offset that no history can have"),
        pytest.param(bytes(34), id="zeros"),
    ],
)
def test_an_entry_that_is_none_ends_the_index(broken: bytes) -> None:
    found = decode_index(encoded([ONE]) + broken + encoded([TWO]), 100)
    assert found == SegmentIndex(100, [ONE], "entry 2 is incomplete or damaged (bytes from there on: 68)")


def test_each_segment_has_its_own_index(tmp_path: Path) -> None:
    for base in (0, 100, 200):
        (tmp_path / f"{base:020}.log").touch()
    (tmp_path / f"{100:020}.txnindex").write_bytes(encoded([ONE, TWO]))
    (tmp_path / f"{300:020}.txnindex").write_bytes(encoded([ONE]))
    (tmp_path / f"{0:020}.txnindex.deleted").write_bytes(encoded([ONE]))
    (tmp_path / "leader-epoch-checkpoint").touch()
    assert read_indexes(tmp_path) == [
        SegmentIndex(0, []),
        SegmentIndex(100, [ONE, TWO]),
        SegmentIndex(200, []),
    ]


def test_a_segment_that_is_deleted_meanwhile_is_left_out(tmp_path: Path) -> None:
    for base in (0, 100):
        (tmp_path / f"{base:020}.log").touch()

    def read(file: Path) -> bytes:
        (tmp_path / f"{0:020}.log").unlink(missing_ok=True)
        return file.read_bytes()

    assert read_indexes(tmp_path, read) == [SegmentIndex(100, [])]


def test_an_index_that_can_not_be_read_is_an_error(tmp_path: Path) -> None:
    (tmp_path / f"{0:020}.log").touch()
    (tmp_path / f"{0:020}.txnindex").mkdir()
    with pytest.raises(OSError, match="directory"):
        read_indexes(tmp_path)
