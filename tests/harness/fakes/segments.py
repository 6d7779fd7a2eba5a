"""Segments of a log as Kafka writes them: batches by kafka-python's builder, folders on a disk."""

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.util import calc_crc32c

CONTROL_BIT = 0x20
_LEADER_EPOCH_AT, _CRC_AT, _ATTRIBUTES_AT = 12, 17, 21


class Producer(NamedTuple):
    """Who sent a batch: id, epoch, sequence number of the first record."""

    id: int = -1
    epoch: int = -1
    sequence: int = -1


NOBODY = Producer()


def batch(
    base_offset: int,
    values: Sequence[bytes] = (b"9f2c61d0:1",),
    *,
    leader_epoch: int = 0,
    producer: Producer = NOBODY,
    transactional: bool = False,
    compression: int = 0,
    deltas: Sequence[int] | None = None,
) -> bytes:
    """A batch of records; those that compaction left of one have the distances of their offsets written."""
    builder = DefaultRecordBatchBuilder(2, compression, transactional, *producer, 1 << 30)
    for place, value in zip(range(len(values)) if deltas is None else deltas, values, strict=True):
        assert builder.append(place, 1_700_000_000_000 + place, None, value, []) is not None
    return _placed(builder, base_offset, leader_epoch)


def registration(broker: int, epoch: int) -> bytes:
    """A RegisterBrokerRecord of version 0 without endpoints and features, as KIP-631 lays it out."""
    head = b"\x01\x00\x00" + struct.pack(">i", broker) + bytes(16) + struct.pack(">q", epoch)
    return head + b"\x01\x01\x00\x01\x00"


def control_batch(
    base_offset: int,
    kind: int,
    value: bytes,
    *,
    leader_epoch: int = 0,
    producer: Producer = NOBODY,
) -> bytes:
    """A batch of one control record."""
    builder = DefaultRecordBatchBuilder(2, 0, producer != NOBODY, *producer, 1 << 30)
    builder.append(0, 1_700_000_000_000, struct.pack(">hh", 0, kind), value, [])
    return with_attributes(_placed(builder, base_offset, leader_epoch), CONTROL_BIT)


def marker(
    base_offset: int, producer: Producer, *, commit: bool, coordinator_epoch: int = 7, leader_epoch: int = 0
) -> bytes:
    """What ends a transaction in one partition."""
    value = struct.pack(">hi", 0, coordinator_epoch)
    who = Producer(producer.id, producer.epoch)
    return control_batch(base_offset, int(commit), value, leader_epoch=leader_epoch, producer=who)


def with_attributes(whole: bytes, bits: int) -> bytes:
    """The same batch with further attributes, and a checksum that is right again."""
    changed = bytearray(whole)
    (attributes,) = struct.unpack_from(">H", changed, _ATTRIBUTES_AT)
    struct.pack_into(">H", changed, _ATTRIBUTES_AT, attributes | bits)
    return checked(changed)


def checked(whole: bytes | bytearray) -> bytes:
    """The same batch with a checksum that is right."""
    changed = bytearray(whole)
    struct.pack_into(">I", changed, _CRC_AT, calc_crc32c(bytes(changed[_ATTRIBUTES_AT:])))
    return bytes(changed)


def _placed(builder: DefaultRecordBatchBuilder, base_offset: int, leader_epoch: int) -> bytes:
    whole = bytearray(builder.build())
    struct.pack_into(">q", whole, 0, base_offset)
    struct.pack_into(">i", whole, _LEADER_EPOCH_AT, leader_epoch)
    return bytes(whole)


def write_log(
    folder: Path, segments: dict[int, bytes], topic_id: str | None = "pl2yURLxReyXmuf8pnFOsg"
) -> Path:
    """A partition's folder with segments by base offset, and the files that Kafka has beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    for first, data in segments.items():
        (folder / f"{first:020}.log").write_bytes(data)
        (folder / f"{first:020}.index").write_bytes(b"\0" * 64)
        (folder / f"{first:020}.timeindex").write_bytes(b"\xff" * 12)
    (folder / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    if topic_id is not None:
        (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic_id}")
    return folder
