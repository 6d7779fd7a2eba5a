"""Records of ``__consumer_offsets`` by hand, in batches as Kafka writes them."""

import struct
from collections.abc import Sequence

from kafka.record.default_records import DefaultRecordBatchBuilder

_LEADER_EPOCH_AT = 12
Record = tuple[bytes | None, bytes | None]


def key(group: str, topic: str, partition: int, *, version: int = 1) -> bytes:
    """An OffsetCommitKey: version, group, topic, partition."""
    texts = b"".join(struct.pack(">h", len(text)) + text.encode() for text in (group, topic))
    return struct.pack(">h", version) + texts + struct.pack(">i", partition)


def value(offset: int, *, version: int = 3) -> bytes:
    """An OffsetCommitValue: version, offset, leader epoch, metadata, time."""
    return struct.pack(">hqihq", version, offset, -1, 0, 1_700_000_000_000)


def commit(offset: int, group: str = "g", topic: str = "t", partition: int = 0) -> Record:
    """A record that commits."""
    return key(group, topic, partition), value(offset)


def batch(
    base: int,
    *records: Record,
    epoch: int = 0,
    transactional: bool = False,
    compression: int = 0,
    deltas: Sequence[int] = (),
) -> bytes:
    """A batch of records; those that compaction left have the distances of their offsets written."""
    producer = (9, 0, 0) if transactional else (-1, -1, -1)
    builder = DefaultRecordBatchBuilder(2, compression, transactional, *producer, 1 << 30)
    for place, (name, content) in zip(deltas or range(len(records)), records, strict=True):
        assert builder.append(place, 1_700_000_000_000, name, content, []) is not None
    whole = bytearray(builder.build())
    struct.pack_into(">q", whole, 0, base)
    struct.pack_into(">i", whole, _LEADER_EPOCH_AT, epoch)
    return bytes(whole)
