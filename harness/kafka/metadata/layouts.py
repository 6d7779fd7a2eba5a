"""Reads Kafka's messages by their layouts in the JSON files next to this module.

A reader takes bytes and a position; it returns the value there and the position after it.  Values are the
same as from Kafka's own JSON converters: the same names in the same order, ids in base64.  A tagged field
that has its default is left out (KIP-482).
"""

import base64
import re
import struct
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from harness.kafka.segments.varints import unsigned

Reader = Callable[[bytes, int], tuple[object, int]]
StructReader = Callable[[bytes, int], tuple[dict[str, object], int]]

_SCHEMAS = Path(__file__).parent / "schemas"
_SMALL_LETTER_THEN_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_UUID_BYTES = 16
_NUMBERS = {
    "int8": struct.Struct(">b"),
    "int16": struct.Struct(">h"),
    "uint16": struct.Struct(">H"),
    "int32": struct.Struct(">i"),
    "int64": struct.Struct(">q"),
    "float64": struct.Struct(">d"),
}
_NO_ID = "A" * 22


class Field(msgspec.Struct, frozen=True, rename="camel"):
    """A field of a definition, or a struct that several fields share."""

    name: str
    versions: str
    type: str = ""
    nullable_versions: str = "none"
    tagged_versions: str = "none"
    tag: int = -1
    default: str = ""
    fields: tuple["Field", ...] = ()


class Schema(msgspec.Struct, frozen=True, rename="camel"):
    """The definition of a message; for a metadata record, `api_key` is its type."""

    name: str
    valid_versions: str
    fields: tuple[Field, ...]
    common_structs: tuple[Field, ...] = ()
    api_key: int = -1

    @property
    def kind(self) -> str:
        """``PartitionChangeRecord`` as ``PARTITION_CHANGE_RECORD``, as Kafka's tools name it."""
        return _SMALL_LETTER_THEN_CAPITAL.sub("_", self.name.replace("KRaft", "Kraft")).upper()


@cache
def schemas() -> Mapping[str, Schema]:
    """All definitions by their names."""
    decode = msgspec.json.Decoder(Schema).decode
    found = [decode(path.read_bytes()) for path in sorted(_SCHEMAS.glob("*.json"))]
    return {schema.name: schema for schema in found}


@cache
def reader_of(name: str, version: int) -> StructReader | None:
    """The reader for this version of a message; None if the definition does not have the version."""
    schema = schemas()[name]
    if not _within(version, schema.valid_versions):
        return None
    return _struct(schema.fields, version, {shared.name: shared.fields for shared in schema.common_structs})


def _within(version: int, versions: str) -> bool:
    """Whether a version is one of ``0``, ``0-4``, ``2+`` or ``none``."""
    if versions == "none":
        return False
    first, _, last = versions.partition("-")
    if versions.endswith("+"):
        return version >= int(versions[:-1])
    return int(first) <= version <= int(last or first)


class _Tagged(NamedTuple):
    """A tagged field, which is present only if its value is not the default."""

    key: str
    read: Reader
    default: object


def _struct(fields: tuple[Field, ...], version: int, shared: Mapping[str, tuple[Field, ...]]) -> StructReader:
    plain: list[tuple[str, Reader]] = []
    tagged: dict[int, _Tagged] = {}
    order: list[str] = []
    for field in fields:
        if _within(version, field.versions):
            key = field.name[0].lower() + field.name[1:]
            read = _field(field, version, shared)
            order.append(key)
            if _within(version, field.tagged_versions):
                tagged[field.tag] = _Tagged(key, read, _default(field))
            else:
                plain.append((key, read))

    def read_struct(data: bytes, at: int) -> tuple[dict[str, object], int]:
        found: dict[str, object] = {}
        for key, read in plain:
            found[key], at = read(data, at)
        if data[at] == 0:
            return found, at + 1
        at = _read_tags(data, at, tagged, found)
        return {key: found[key] for key in order if key in found}, at

    return read_struct


def _read_tags(data: bytes, at: int, tagged: Mapping[int, _Tagged], found: dict[str, object]) -> int:
    """Read the tagged fields; unknown ones are skipped, as in Kafka."""
    count, at = unsigned(data, at)
    for _ in range(count):
        tag, at = unsigned(data, at)
        size, at = unsigned(data, at)
        field = tagged.get(tag)
        if field is not None:
            value, ended = field.read(data, at)
            if ended != at + size:
                raise ValueError(f"field {field.key} has {ended - at} bytes and not {size}")
            if value != field.default:
                found[field.key] = value
        elif at + size > len(data):
            raise ValueError(f"the field with tag {tag} is cut short")
        at += size
    return at


def _field(field: Field, version: int, shared: Mapping[str, tuple[Field, ...]]) -> Reader:
    nullable = _within(version, field.nullable_versions)
    kind = field.type.removeprefix("[]")
    read: Reader
    if kind in _NUMBERS:
        read = _number(_NUMBERS[kind])
    elif kind in _SIMPLE:
        read = _SIMPLE[kind]
    elif kind in _SIZED:
        read = _sized(_SIZED[kind], nullable=nullable and kind == field.type)
    else:
        read = _struct(field.fields or shared[kind], version, shared)
    return _array(read, nullable=nullable) if kind != field.type else read


def _number(layout: struct.Struct) -> Reader:
    unpack, size = layout.unpack_from, layout.size

    def read_number(data: bytes, at: int) -> tuple[object, int]:
        return unpack(data, at)[0], at + size

    return read_number


def _bool(data: bytes, at: int) -> tuple[bool, int]:
    return data[at] != 0, at + 1


def _uuid(data: bytes, at: int) -> tuple[str, int]:
    """An id as Kafka prints it: base64 for URLs, without padding."""
    end = at + _UUID_BYTES
    if end > len(data):
        raise ValueError("an id that is cut short")
    return base64.urlsafe_b64encode(data[at:end])[:-2].decode(), end


def _sized(make: Callable[[bytes], str], *, nullable: bool) -> Reader:
    def read_sized(data: bytes, at: int) -> tuple[str | None, int]:
        size, at = _size(data, at, nullable=nullable)
        if size is None:
            return None, at
        end = at + size
        if end > len(data):
            raise ValueError(f"{size} bytes that are cut short")
        return make(data[at:end]), end

    return read_sized


def _array(read: Reader, *, nullable: bool) -> Reader:
    def read_array(data: bytes, at: int) -> tuple[list[object] | None, int]:
        size, at = _size(data, at, nullable=nullable)
        if size is None:
            return None, at
        if size > len(data) - at:
            raise ValueError(f"{size} elements in {len(data) - at} bytes")
        found: list[object] = []
        for _ in range(size):
            element, at = read(data, at)
            found.append(element)
        return found, at

    return read_array


def _size(data: bytes, at: int, *, nullable: bool) -> tuple[int | None, int]:
    """Read a length, which is stored plus one; None for null."""
    size, at = unsigned(data, at)
    if size:
        return size - 1, at
    if not nullable:
        raise ValueError("null where there must be something")
    return None, at


_SIMPLE: Mapping[str, Reader] = {"bool": _bool, "uuid": _uuid}
_SIZED: Mapping[str, Callable[[bytes], str]] = {
    "string": bytes.decode,
    "bytes": lambda content: base64.b64encode(content).decode(),
}


def _default(field: Field) -> object:
    """The value of a field that is absent from a message."""
    if field.default == "null":
        return None
    if field.type in _NUMBERS:
        return float(field.default or 0)
    others = {"bool": field.default == "true", "uuid": _NO_ID, "string": field.default, "bytes": ""}
    return others.get(field.type, [])
