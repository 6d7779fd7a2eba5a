"""Records of the metadata log, decoded and printed as Kafka's own DumpLogSegments prints them.

`recorded_metadata` holds logs and what the tool of that version printed of them: of nodes of Kafka 3.7.1 and
4.3.1 that were asked for all kinds of changes, and of a log made of every record in every version that 4.3.1
has, filled with extreme, absent and random values by Kafka's own converters.
"""

import re
import struct
import tarfile
from collections.abc import Callable, Mapping
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

import msgspec
import pytest
from kafka.record.default_records import DefaultRecordBatchBuilder

from harness.kafka.metadata.layouts import reader_of, schemas
from harness.kafka.metadata.printing import printed
from harness.kafka.metadata.reading import FileReader
from harness.kafka.metadata.records import decode, decode_control
from harness.kafka.segments.records import BatchRecord
from tests.harness.fakes.control_schemas import LeaderChangeMessage
from tests.harness.fakes.segments import Producer, batch, checked, control_batch, with_attributes

RECORDED = Path(__file__).parent / "recorded_metadata"
LOG = f"{0:020}.log"
NO_OP = b"\x01\x14\x00\x00"
TOPIC = b"\x01\x02\x00" + b"\x06log-0" + bytes(16) + b"\x00"
NAMED = {"name": "log-0", "topicId": "A" * 22}
TOPIC_WITH_UNKNOWN_FIELD = TOPIC[:-1] + b"\x01\x09\x02hi"
_HEADER_BYTES = 61


def unpacked(version: str) -> tuple[dict[str, bytes], str]:
    """Files of a recorded log by name, and what the tool printed of them."""
    with tarfile.open(RECORDED / f"{version}.tar.xz") as archive:
        found = {member.name: archive.extractfile(member) for member in archive.getmembers()}
        contents = {name: file.read() for name, file in found.items() if file is not None}
    return contents, contents.pop("dump.txt").decode()


def lines_of(contents: Mapping[str, bytes]) -> list[str]:
    reader = FileReader()
    return [line for name, data in contents.items() for line in printed(name, reader.read(data))]


def value(data: bytes) -> BatchRecord:
    return BatchRecord(0, 0, None, data, ())


def control(kind: int, data: bytes) -> BatchRecord:
    return BatchRecord(0, 0, struct.pack(">hh", 0, kind), data, ())


@pytest.mark.parametrize("version", ["3.7.1", "4.3.1", "4.3.1-all-versions"])
def test_records_are_printed_as_kafkas_tool_prints_them(version: str) -> None:
    contents, text = unpacked(version)

    ours, theirs = lines_of(contents), text.splitlines()

    assert len(ours) == len(theirs)
    # The tool of before 4.1 names no more than the type of a leader change.
    differing = [(mine, its) for mine, its in zip(ours, theirs, strict=True) if mine != its]
    assert [its for mine, its in differing if mine.partition("[]")[0] != its.partition("[]")[0]] == []
    assert {its.partition("[]")[2].strip() for _, its in differing} <= {"controlType: LEADER_CHANGE(2)"}
    assert version.startswith("3") or not differing


def test_every_record_in_every_version_was_recorded() -> None:
    _, text = unpacked("4.3.1-all-versions")
    printed_of = {
        (kind, int(version))
        for kind, version in re.findall(r'payload: \{"type":"(\w+)","version":(\d+)', text)
    }
    known = {
        (schema.kind, version)
        for schema in schemas().values()
        for version in takewhile(partial(reader_of, schema.name), range(99))
        if schema.api_key >= 0
    }
    assert known - printed_of == {("UNREGISTER_CONTROLLER_RECORD", 0)}  # which is new in 4.4
    assert printed_of <= known


def test_all_definitions_are_of_flexible_versions() -> None:
    """Lengths are read as those are stored, and tags are looked for behind every struct."""
    folder = Path(__file__).parents[3] / "harness/kafka/metadata/schemas"
    definitions = {path.stem: msgspec.json.decode(path.read_bytes()) for path in folder.glob("*.json")}
    assert {each["flexibleVersions"] for each in definitions.values()} == {"0+"}
    assert {name: each["name"] for name, each in definitions.items()} == {name: name for name in definitions}


def test_a_leader_is_decoded_with_directories_too() -> None:
    """Version 1, which the tool of 4.3.1 takes for version 0, and fails."""
    voter = LeaderChangeMessage.Voter(voter_id=3, voter_directory_id=None)
    message = LeaderChangeMessage(
        version=1, record_version=1, leader_id=3, voters=[voter], granting_voters=[voter]
    )

    decoded = decode_control(control(2, message.encode(version=1, header=False)))

    each = [{"voterId": 3, "voterDirectoryId": "A" * 22}]
    assert decoded.kind == "LEADER_CHANGE"
    assert decoded.content == {"version": 1, "leaderId": 3, "voters": each, "grantingVoters": each}


@pytest.mark.parametrize(
    ("data", "opaque"),
    [
        (b"\x01\xac\x02\x03abc", {"type": 300, "version": 3, "size": 7}),
        (
            b"\x01\x05\x07" + bytes(9),
            {"type": 5, "name": "PARTITION_CHANGE_RECORD", "version": 7, "size": 12},
        ),
    ],
)
def test_a_record_of_a_later_kafka_is_opaque(data: bytes, opaque: dict[str, Any]) -> None:
    decoded = decode(value(data))
    file = FileReader().read(batch(8, [TOPIC, data], leader_epoch=2))

    assert (decoded.kind, decoded.content) == ("OPAQUE_RECORD", opaque)
    assert file.problem is None
    assert file.journal_records() == [(8, 2, "TOPIC_RECORD", NAMED), (9, 2, "OPAQUE_RECORD", opaque)]
    line = list(printed(LOG, file))[-1]
    assert line.endswith(f"payload: Opaque {msgspec.json.encode(opaque).decode()}")


@pytest.mark.parametrize(
    ("kind", "data", "opaque"),
    [
        (7, b"\x00\x02abc", {"type": 7, "version": 2, "size": 5}),
        (6, b"\x00\x09abc", {"type": 6, "name": "KRAFT_VOTERS", "version": 9, "size": 5}),
    ],
)
def test_a_control_record_of_a_later_kafka_is_opaque(kind: int, data: bytes, opaque: dict[str, Any]) -> None:
    file = FileReader().read(control_batch(5, kind, data, leader_epoch=2))

    assert file.journal_records() == [(5, 2, "CONTROL", opaque)]
    assert list(printed(LOG, file))[-1].endswith(f"Opaque {msgspec.json.encode(opaque).decode()}")


def test_a_tagged_field_that_is_not_known_is_passed_over() -> None:
    assert decode(value(TOPIC_WITH_UNKNOWN_FIELD)).content == NAMED


def test_a_tagged_field_that_has_its_default_is_left_out() -> None:
    change = b"\x01\x05\x00" + bytes(20) + b"\x02\x00\x01\x00" + b"\x01\x04\xff\xff\xff\xfe"
    assert decode(value(change)).content == {"partitionId": 0, "topicId": "A" * 22}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (None, "a metadata record without a value"),
        (b"", "cut short"),
        (b"\x02\x02\x00", "a frame of version 2"),
        (b"\x01\x02", "cut short"),
        (TOPIC[:5], "5 bytes that are cut short"),
        (TOPIC[:-4], "an id that is cut short"),
        (TOPIC + b"x", "1 bytes after the end"),
        (b"\x01\x02\x00\x00" + TOPIC[9:], "null where there must be something"),
        (TOPIC_WITH_UNKNOWN_FIELD[:-1], "the field with tag 9 is cut short"),
        (b"\x80" * 6, "a number that does not end"),
        (b"\x01\x05\x00" + bytes(20) + b"\x01\x01\x03" + bytes(4), "field leader has 4 bytes and not 3"),
        (b"\x01\x05\x00" + bytes(20) + b"\x01\x00\x02\x7f\x00", "126 elements in 1 bytes"),
        (b"\x01\x02\x00\x02\xff" + bytes(17), "invalid start byte"),
    ],
)
def test_a_record_that_can_not_be_read(data: bytes | None, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        decode(BatchRecord(0, 0, None, data, ()))


@pytest.mark.parametrize(
    "record",
    [control(2, b""), control(2, b"\x00\x00\x00"), BatchRecord(0, 0, b"\x00", b"\x00\x00", ()), value(b"")],
)
def test_a_control_record_that_can_not_be_read(record: BatchRecord) -> None:
    with pytest.raises(ValueError, match="a control record that is cut short"):
        decode_control(record)


def test_what_does_nothing_is_printed_where_it_stands_with_others() -> None:
    """A batch of several of which nothing is printed is one that was not decoded."""
    file = FileReader().read(batch(4, [NO_OP]) + batch(5, [NO_OP, NO_OP], leader_epoch=2))

    assert file.journal_records() == [(5, 2, "NO_OP_RECORD", None), (6, 2, "NO_OP_RECORD", None)]


BROKEN = batch(3, [TOPIC, b"\x01\x02"])


def record_changed(at: int, *others: int) -> Callable[[], bytes]:
    """A batch of one topic's record, bytes of which are others, and whose checksum is right."""

    def make() -> bytes:
        changed = bytearray(batch(3, [TOPIC]))
        changed[_HEADER_BYTES + at : _HEADER_BYTES + at + len(others)] = others
        return checked(changed)

    return make


@pytest.mark.parametrize(
    ("make", "problem", "expected"),
    [
        (lambda: BROKEN, "the record at offset 4: a metadata record that is cut short", ["log-0"]),
        (record_changed(0, 0x7E), "the batch at offset 3: a record of 63 bytes whose fields have", []),
        (record_changed(5, 0x7E), "the batch at offset 3: 63 bytes that are cut short", []),
        (record_changed(0, 0xFF), "the batch at offset 3: a ", []),
        (record_changed(0, *[0x80] * 10), "the batch at offset 3: a number that does not end", []),
        (record_changed(3, 2), "the record at offset 4: it is outside of its batch", []),
        (lambda: batch(-5, [TOPIC]), "the record at offset -5: it is outside of its batch", []),
        (lambda: batch(1 << 62, [TOPIC]), "the record at offset 4611686018427387904: it is outside", []),
        (
            lambda: with_attributes(batch(3, [TOPIC]), 2),
            "the batch at offset 3 is compressed",
            [],
        ),
        (
            lambda: batch(3, [TOPIC]) + b"\xff" * 70,
            "no batch begins at position 94: the length is",
            ["log-0"],
        ),
        (lambda: batch(3, [TOPIC]) + bytes(200), None, ["log-0"]),
        (lambda: batch(3, [TOPIC]) + batch(4, [TOPIC])[:-3], None, ["log-0"]),
        (lambda: b"", None, []),
    ],
)
def test_damage_is_printed_with_what_can_be_read(
    make: Callable[[], bytes], problem: str | None, expected: list[str]
) -> None:
    data = make()

    file = FileReader().read(data)

    assert (file.problem or "").startswith(problem or "\0") is (problem is not None)
    assert [content["name"] for *_, content in file.journal_records() if content] == expected
    lines = list(printed(LOG, file))
    assert any("Error at" in line for line in lines) is (problem is not None and "record at" in problem)
    assert any(line.startswith("Found ") for line in lines) is (file.left > 0)


def test_a_batch_that_ends_behind_its_records_is_not_sound() -> None:
    longer = bytearray(batch(3, [TOPIC]) + b"xx")
    struct.pack_into(">i", longer, 8, len(longer) - 12)
    assert (
        FileReader().read(checked(longer)).problem == "the batch at offset 3: 2 bytes after the last record"
    )


def test_a_wrong_checksum_is_printed() -> None:
    data = bytearray(batch(3, [TOPIC]))
    data[-4] ^= 1
    assert "isvalid: false" in list(printed(LOG, FileReader().read(bytes(data))))[2]


def test_clocks_sequences_and_horizons_are_printed() -> None:
    """Kafka's controllers use none of these; the lines show them as the tool does."""
    data = with_attributes(batch(3, [TOPIC, TOPIC], producer=Producer(7, 1, 5)), 0x48)

    head, first, second = list(printed(LOG, FileReader().read(data)))[2:]

    assert "baseSequence: 5 lastSequence: 6 producerId: 7" in head
    assert "deleteHorizonMs: OptionalLong[1700000000000]" in head
    assert "LogAppendTime: 1700000000001 " in first
    assert "sequence: 6" in second


def test_headers_are_named() -> None:
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 1 << 20)  # noqa: FBT003 - kafka-python's order
    builder.append(0, 1, None, TOPIC, [("one", b"1"), ("two", None)])
    assert "headerKeys: [one,two]" in list(printed(LOG, FileReader().read(bytes(builder.build()))))[-1]


def test_what_nodes_have_in_common_is_decoded_once() -> None:
    contents, _ = unpacked("4.3.1")
    reader = FileReader()
    first, second = (reader.read(contents[LOG]) for _ in range(2))
    assert all(one is other for (_, one), (_, other) in zip(first.batches, second.batches, strict=True))


def test_control_records_that_end_transactions_are_opaque() -> None:
    assert FileReader().read(control_batch(0, 1, bytes(6))).journal_records() == [
        (0, 0, "CONTROL", {"type": 1, "version": 0, "size": 6})
    ]
