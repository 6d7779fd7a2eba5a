"""Prints a file of a metadata log in the format of Kafka's DumpLogSegments.

For every record that is known here, the output equals that of Kafka 4.3 and 4.4 byte for byte.
"""

from collections.abc import Iterator
from decimal import Decimal
from pathlib import PurePath

import msgspec

from checkers.history.replicas import OPAQUE, OPAQUE_CONTROL
from harness.kafka.metadata.reading import Header, MetadataBatch, MetadataFile, Read

_TRANSACTIONAL, _DELETE_HORIZON = 0x10, 0x40
_BATCH_BYTES_BEFORE_LENGTH = 12
_CONTROL_NAMES = {
    "LEADER_CHANGE": "LeaderChange:",
    "SNAPSHOT_HEADER": "SnapshotHeader",
    "SNAPSHOT_FOOTER": "SnapshotFooter",
    "KRAFT_VERSION": "KRaftVersion",
    "KRAFT_VOTERS": "KRaftVoters",
    OPAQUE_CONTROL: "Opaque",
}
_PLAIN_FROM, _PLAIN_BELOW = 1e-3, 1e7
"""Java writes numbers in this range without an exponent."""


def printed(path: str, file: MetadataFile) -> Iterator[str]:
    """The lines that describe a file.

    Args:
        path: its path in the output.
        file: its content.
    """
    name = PurePath(path)
    yield f"Dumping {path}"
    if name.suffix == ".checkpoint":
        offset, _, epoch = name.stem.partition("-")
        yield f"Snapshot end offset: {int(offset)}, epoch: {int(epoch)}"
    else:
        yield f"Log starting offset: {int(name.stem)}"
    for position, batch in file.batches:
        yield _batch_line(position, batch)
        for read in batch.records:
            yield _record_line(batch.header, read)
    if file.left:
        yield f"Found {file.left} invalid bytes at the end of {name.name}"


def _batch_line(position: int, batch: MetadataBatch) -> str:
    header = batch.header
    first = header.base_sequence
    last = first + header.last_offset_delta if first >= 0 else -1
    horizon = header.attributes & _DELETE_HORIZON
    return (
        f"baseOffset: {header.base_offset} lastOffset: {header.base_offset + header.last_offset_delta}"
        f" count: {header.size} baseSequence: {first} lastSequence: {last}"
        f" producerId: {header.producer_id} producerEpoch: {header.producer_epoch}"
        f" partitionLeaderEpoch: {header.leader_epoch}"
        f" isTransactional: {_bool(header.attributes & _TRANSACTIONAL)} isControl: {_bool(header.is_control)}"
        f" deleteHorizonMs: {f'OptionalLong[{header.first_timestamp}]' if horizon else 'OptionalLong.empty'}"
        f" position: {position} {header.time_type}: {header.max_timestamp}"
        f" size: {_BATCH_BYTES_BEFORE_LENGTH + header.length} magic: {header.magic} compresscodec: none"
        f" crc: {header.crc} isvalid: {_bool(batch.sound)}"
    )


def _record_line(header: Header, read: Read) -> str:
    record = read.record
    offset = header.base_offset + record.offset_delta
    sequence = header.base_sequence + record.offset_delta if header.base_sequence >= 0 else -1
    return (
        f"| offset: {offset} {header.time_type}: {header.timestamp(record)}"
        f" keySize: {_size(record.key)} valueSize: {_size(record.value)} sequence: {sequence}"
        f" headerKeys: [{','.join(record.headers)}] {_content(offset, header, read)}"
    )


def _content(offset: int, header: Header, read: Read) -> str:
    if read.decoded is None:
        return f"payload: Error at {offset}, skipping. {read.problem}"
    kind, version, content = read.decoded
    if header.is_control:
        return f"{_CONTROL_NAMES[kind]} {_json(content)}"
    if kind == OPAQUE:
        return f"payload: Opaque {_json(content)}"
    return f"payload: {_json({'type': kind, 'version': version, 'data': _as_java(content)})}"


def _as_java(content: dict[str, object]) -> dict[str, object]:
    """A record's fields, with fractional numbers in Java's format."""
    if not any(isinstance(value, float) for value in content.values()):
        return content
    return {
        key: msgspec.Raw(_double(value)) if isinstance(value, float) else value
        for key, value in content.items()
    }


def _double(value: float) -> str:
    """Format a number as Java's Double.toString does."""
    if value == 0 or _PLAIN_FROM <= abs(value) < _PLAIN_BELOW:
        return repr(value)
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    first, *others = map(str, digits)
    return f"{'-' * sign}{first}.{''.join(others) or '0'}E{len(others) + int(exponent)}"


def _json(content: object) -> str:
    return msgspec.json.encode(content).decode()


def _size(content: bytes | None) -> int:
    return -1 if content is None else len(content)


def _bool(value: object) -> str:
    return "true" if value else "false"
