"""Record batches read from bytes: as kafka-python reads them, and distinguished from what is none."""

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.memory_records import MemoryRecords

from harness.kafka.segments.batches import (
    BAD_CHECKSUM,
    BAD_CONTROL,
    REASONS,
    Damage,
    Segment,
    Tail,
    control_record,
    read_segment,
)
from harness.kafka.segments.compiled import SearchEnd, checksums
from tests.harness.fakes.segments import (
    Producer,
    batch,
    checked,
    control_batch,
    marker,
    with_attributes,
)

GZIP = 1
ALICE = Producer(9001, 3, 0)
THREE = (
    batch(0, [b"a", b"b"], leader_epoch=1, producer=ALICE),
    batch(2, leader_epoch=1),
    batch(3, [b"c"] * 5, leader_epoch=4, producer=ALICE._replace(sequence=2)),
)


@st.composite
def logs(draw: st.DrawFn) -> list[bytes]:
    """Batches that follow each other, as a producer and leaders may have made them."""
    offset, found = draw(st.integers(0, 2**40)), []
    for _ in range(draw(st.integers(1, 6))):
        values = draw(st.lists(st.binary(max_size=20), min_size=1, max_size=5))
        producer = draw(
            st.sampled_from([Producer(), ALICE, Producer(2**60, 2**15 - 1, 2**31 - 1), Producer(5, 0, 77)])
        )
        found.append(
            batch(
                offset,
                values,
                leader_epoch=draw(st.integers(0, 2**31 - 1)),
                producer=producer,
                transactional=producer.id >= 0 and draw(st.booleans()),
                compression=draw(st.sampled_from([0, GZIP])),
            )
        )
        offset += len(values) + draw(st.integers(0, 3))
    return found


def rows(segment: Segment) -> int:
    return len(segment.columns["base_offset"])


@given(logs())
def test_headers_are_those_that_kafka_python_reads(batches: list[bytes]) -> None:
    segment = read_segment(b"".join(batches))

    columns = {name: column.tolist() for name, column in segment.columns.items()}
    records = MemoryRecords(b"".join(batches))
    for row in range(len(batches)):
        theirs = records.next_batch()
        assert theirs.validate_crc()
        assert columns["base_offset"][row] == theirs.base_offset
        assert columns["last_offset"][row] == theirs.base_offset + theirs.last_offset_delta
        assert columns["leader_epoch"][row] == theirs.leader_epoch
        assert columns["producer_id"][row] == theirs.producer_id
        assert columns["producer_epoch"][row] == theirs.producer_epoch
        assert columns["base_sequence"][row] == theirs.base_sequence
        assert columns["count"][row] == theirs.records_count
        assert columns["crc"][row] == theirs.crc
        assert columns["attributes"][row] == theirs.attributes
    assert rows(segment) == len(batches)
    assert segment.damage == ()
    assert segment.tail is None


def test_the_checksum_is_castagnolis() -> None:
    """The check value that RFC 3720's polynomial is known by."""
    data = np.frombuffer(b"x" * 21 + b"123456789", dtype=np.uint8)

    (found,) = checksums(data, np.array([0]), np.array([len(data)])).tolist()

    assert found == 0xE3069283


@given(logs(), st.data())
def test_a_changed_byte_of_the_content_is_found(batches: list[bytes], data: st.DataObject) -> None:
    which = data.draw(st.integers(0, len(batches) - 1))
    place = data.draw(st.integers(21, len(batches[which]) - 1))
    change = data.draw(st.integers(1, 255))
    changed = bytearray(batches[which])
    changed[place] ^= change
    start = sum(map(len, batches[:which]))

    segment = read_segment(b"".join([*batches[:which], changed, *batches[which + 1 :]]))

    (offset,) = struct.unpack_from(">q", changed)
    assert Damage(start, offset, BAD_CHECKSUM) in segment.damage
    assert {damage.position for damage in segment.damage} == {start}
    assert rows(segment) == len(batches)


def test_a_changed_checksum_is_found() -> None:
    changed = bytearray(THREE[1])
    changed[17] ^= 1

    segment = read_segment(b"".join([THREE[0], changed, THREE[2]]))

    assert segment.damage == (Damage(len(THREE[0]), 2, BAD_CHECKSUM),)


@pytest.mark.parametrize("cut", range(sum(map(len, THREE))))
def test_a_segment_cut_short_keeps_its_whole_batches(cut: int) -> None:
    data = b"".join(THREE)[:cut]
    starts = [0, len(THREE[0]), len(THREE[0]) + len(THREE[1])]
    ends = [*starts[1:], sum(map(len, THREE))]

    segment = read_segment(data)

    whole = sum(end <= cut for end in ends)
    begun = ends[whole - 1] if whole else 0
    assert rows(segment) == whole
    assert segment.damage == ()
    expected = None
    if begun < cut:
        expected = Tail(begun, cut - begun, "cut" if any(data[begun:]) else "zeros")
    assert segment.tail == expected


@pytest.mark.parametrize("size", [1, 11, 16, 17, 61, 4096])
def test_zeros_at_the_end_are_no_damage(size: int) -> None:
    whole = b"".join(THREE)

    segment = read_segment(whole + b"\0" * size)

    assert rows(segment) == 3
    assert segment.tail == Tail(len(whole), size, "zeros")
    assert segment.damage == ()


@pytest.mark.parametrize("length", [-1, 0, 48, -(2**31)])
def test_a_length_that_no_batch_has_is_damage(length: int) -> None:
    changed = bytearray(THREE[1])
    struct.pack_into(">i", changed, 8, length)

    segment = read_segment(THREE[0] + bytes(changed) + THREE[2])

    assert rows(segment) == 1
    assert segment.damage == (Damage(len(THREE[0]), None, REASONS[SearchEnd.LENGTH]),)
    assert segment.tail is None


def test_a_huge_length_is_a_batch_cut_short() -> None:
    changed = bytearray(THREE[1])
    struct.pack_into(">i", changed, 8, 2**31 - 1)
    data = THREE[0] + bytes(changed) + THREE[2]

    segment = read_segment(data)

    assert rows(segment) == 1
    assert segment.tail == Tail(len(THREE[0]), len(data) - len(THREE[0]), "cut")


@pytest.mark.parametrize("magic", [0, 1, 3, 255])
def test_another_format_version_is_damage(magic: int) -> None:
    changed = bytearray(THREE[1])
    changed[16] = magic

    segment = read_segment(THREE[0] + bytes(changed))

    assert rows(segment) == 1
    assert segment.damage == (Damage(len(THREE[0]), None, REASONS[SearchEnd.MAGIC]),)


@pytest.mark.parametrize("commit", [True, False])
def test_markers_show_how_a_transaction_ended(commit: bool) -> None:  # noqa: FBT001 - a parameter of the test
    data = batch(0, producer=ALICE, transactional=True) + marker(
        1, ALICE, commit=commit, coordinator_epoch=12
    )

    columns = read_segment(data).columns

    assert columns["control"].tolist() == [-1, int(commit)]
    assert columns["coordinator_epoch"].tolist() == [-1, 12]
    assert (columns["attributes"] & 0x30).tolist() == [0x10, 0x30]


@pytest.mark.parametrize("kind", [2, 3, 4, 5, 6])
def test_other_control_records_have_a_type_alone(kind: int) -> None:
    segment = read_segment(control_batch(0, kind, b"\0" * 300))

    assert segment.columns["control"].tolist() == [kind]
    assert segment.columns["coordinator_epoch"].tolist() == [-1]
    assert segment.damage == ()


@pytest.mark.parametrize(
    "records",
    [
        b"",
        b"\xff" * 12,
        b"\x08\0\0\0",
        b"\x08\0\0\0\x02\0",  # a key of one byte
        b"\x08\0\0\0\x7f",  # a key longer than all that is left
        b"\x08\0\0\0\x01",  # a key of length -1
        b"\x08\0\0\0\x08\0\0\0\x01",  # a marker's key, no value
        b"\x08\0\0\0\x08\0\0\0\x01\x01",  # a value of length -1
        b"\x08\0\0\0\x08\0\0\0\x01\x04\0\0",  # a marker's value cut short
    ],
)
def test_a_control_batch_without_a_control_record_is_damage(records: bytes) -> None:
    header = bytearray(with_attributes(batch(5), 0x20)[:61])
    struct.pack_into(">i", header, 8, 49 + len(records))

    segment = read_segment(checked(bytes(header) + records))

    assert segment.damage == (Damage(0, 5, BAD_CONTROL),)
    assert segment.columns["control"].tolist() == [-1]


@given(st.binary(max_size=200))
def test_no_bytes_make_it_fail(data: bytes) -> None:
    segment = read_segment(data)

    found = segment.tail is not None or bool(segment.damage) or rows(segment) > 0
    assert found == bool(data)
    control_record(data, 0)


@given(logs(), st.data())
def test_no_change_of_a_log_makes_it_fail(batches: list[bytes], data: st.DataObject) -> None:
    changed = bytearray(b"".join(batches))
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))

    segment = read_segment(bytes(changed))

    assert rows(segment) <= len(changed) // 61


class TestRecordsLeft:
    THIN = batch(70, [b"a", b"b", b"c" * 300], deltas=(0, 3, 200))

    def test_offsets_are_read_of_batches_that_lost_records(self) -> None:
        segment = read_segment(batch(10, [b"x", b"y"]) + self.THIN + batch(280, [b"x"], deltas=[9]))
        assert segment.left is not None
        assert segment.left.tolist() == [70, 73, 270, 289]

    def test_none_are_read_where_nothing_is_lost(self) -> None:
        segment = read_segment(batch(10, [b"x", b"y"]))
        assert segment.left is not None
        assert segment.left.tolist() == []

    def test_nobody_knows_them_of_compressed_batches(self) -> None:
        assert read_segment(self.THIN + batch(300, [b"a" * 900], deltas=[2], compression=1)).left is None

    @pytest.mark.parametrize(("at", "byte"), [(61, 0xFF), (61, 1), (64, 0xFE), (64, 1)])
    def test_nor_where_records_cannot_be_read(self, at: int, byte: int) -> None:
        changed = bytearray(self.THIN)
        changed[at] = byte
        changed[at + 1] |= 0x80 if byte > 1 else 0
        assert read_segment(checked(changed)).left is None
