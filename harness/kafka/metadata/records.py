"""Decodes records of the metadata log; for unknown ones it returns type, version and size.

A record's value consists of its frame's version, its type and its version, each a number of variable length,
and the message (KIP-631).  A control record's key consists of a version and its type; its value begins with
its version.
"""

import struct
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from checkers.history.replicas import OPAQUE, OPAQUE_CONTROL
from harness.kafka.metadata.layouts import reader_of, schemas
from harness.kafka.segments.records import BatchRecord
from harness.kafka.segments.varints import unsigned

CONTROL_MESSAGES = {
    2: "LeaderChangeMessage",
    3: "SnapshotHeaderRecord",
    4: "SnapshotFooterRecord",
    5: "KRaftVersionRecord",
    6: "VotersRecord",
}
"""Messages of control records by their types (KIP-595, KIP-630, KIP-853)."""
CONTROL_KINDS = {
    2: "LEADER_CHANGE",
    3: "SNAPSHOT_HEADER",
    4: "SNAPSHOT_FOOTER",
    5: "KRAFT_VERSION",
    6: "KRAFT_VOTERS",
}
"""Names of their types, as Kafka's tools print them."""
_FRAME_VERSION = 1
_CONTROL_KEY, _CONTROL_VERSION = struct.Struct(">hh"), struct.Struct(">h")


class DecodedRecord(NamedTuple):
    """Content of a record.

    Attributes:
        kind: its type's name; `OPAQUE` or `OPAQUE_CONTROL` if it is unknown here.
        version: the version of its message.
        content: its fields; for an opaque record its type, the type's name if there is one, version and size.
    """

    kind: str
    version: int
    content: dict[str, object]


def decode(record: BatchRecord) -> DecodedRecord:
    """Decode a metadata record.

    Raises:
        ValueError: its bytes are not what its type and version ask for.
    """
    value = record.value
    if value is None:
        raise ValueError("a metadata record without a value")
    try:
        frame, at = unsigned(value, 0)
        if frame != _FRAME_VERSION:
            raise ValueError(f"a frame of version {frame}")
        key, at = unsigned(value, at)
        version, at = unsigned(value, at)
        name = _by_key().get(key)
        content = None if name is None else _message(name, version, value, at)
    except (IndexError, struct.error):
        raise ValueError("a metadata record that is cut short") from None
    if content is not None and name is not None:
        return DecodedRecord(_kind(name), version, content)
    known = {} if name is None else {"name": _kind(name)}
    return DecodedRecord(OPAQUE, version, {"type": key, **known, "version": version, "size": len(value)})


def decode_control(record: BatchRecord) -> DecodedRecord:
    """Decode a control record.

    Raises:
        ValueError: its bytes are not what its type and version ask for.
    """
    kind, value = control_type(record), record.value or b""
    try:
        (version,) = _CONTROL_VERSION.unpack_from(value)
        name = CONTROL_MESSAGES.get(kind)
        content = None if name is None else _message(name, version, value, 0)
    except (IndexError, struct.error):
        raise ValueError("a control record that is cut short") from None
    if content is not None:
        return DecodedRecord(CONTROL_KINDS[kind], version, content)
    known = {} if name is None else {"name": CONTROL_KINDS[kind]}
    return DecodedRecord(
        OPAQUE_CONTROL, version, {"type": kind, **known, "version": version, "size": len(value)}
    )


def control_type(record: BatchRecord) -> int:
    """The type of a control record, a key of `CONTROL_KINDS` if it is known.

    Raises:
        ValueError: its key is too short for a type.
    """
    try:
        _, kind = _CONTROL_KEY.unpack_from(record.key or b"")
    except struct.error:
        raise ValueError("a control record that is cut short") from None
    return int(kind)


def _message(name: str, version: int, value: bytes, at: int) -> dict[str, object] | None:
    """The fields of a message; None if its version is unknown."""
    read = reader_of(name, version)
    if read is None:
        return None
    content, end = read(value, at)
    if end != len(value):
        raise ValueError(f"{len(value) - end} bytes after the end of the message")
    return content


@cache
def _by_key() -> Mapping[int, str]:
    """Names of the messages by the types of metadata records."""
    return {schema.api_key: schema.name for schema in schemas().values() if schema.api_key >= 0}


@cache
def _kind(name: str) -> str:
    return schemas()[name].kind
