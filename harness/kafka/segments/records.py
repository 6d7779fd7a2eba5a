"""Decodes the records of one batch: deltas of time and offset, key, value, header names (KIP-98)."""

from collections.abc import Iterator
from typing import NamedTuple

from harness.kafka.segments.compiled import HEADER_BYTES
from harness.kafka.segments.varints import signed


class BatchRecord(NamedTuple):
    """A record of a batch.

    Attributes:
        timestamp_delta: milliseconds after the batch's first timestamp.
        offset_delta: difference from the batch's first offset.
        key: None if it has none.
        value: None if it has none.
        headers: names of its headers.
    """

    timestamp_delta: int
    offset_delta: int
    key: bytes | None
    value: bytes | None
    headers: tuple[str, ...]


def records_of(batch: bytes, count: int) -> Iterator[BatchRecord]:
    """The records of an uncompressed batch.

    Args:
        batch: its bytes, including the header.
        count: number of records in its header.

    Raises:
        ValueError: a record can't be read; earlier records were returned.
    """
    at = HEADER_BYTES
    for _ in range(count):
        try:
            record, at = _record(batch, at)
        except IndexError:
            raise ValueError("a record that is cut short") from None
        yield record
    if at != len(batch):
        raise ValueError(f"{len(batch) - at} bytes after the last record")


def _record(data: bytes, at: int) -> tuple[BatchRecord, int]:
    size, at = signed(data, at)
    end = at + size
    timestamp_delta, at = signed(data, at + 1)  # after the attributes, which are not used
    offset_delta, at = signed(data, at)
    key, at = _bytes(data, at)
    value, at = _bytes(data, at)
    number, at = signed(data, at)
    headers = []
    for _ in range(number):
        name, at = _bytes(data, at)
        headers.append((name or b"").decode())
        _, at = _bytes(data, at)
    if at != end:
        raise ValueError(f"a record of {size} bytes whose fields have {at - end + size}")
    return BatchRecord(timestamp_delta, offset_delta, key, value, tuple(headers)), at


def _bytes(data: bytes, at: int) -> tuple[bytes | None, int]:
    """The bytes after their length; None if the length is negative."""
    size, at = signed(data, at)
    if size < 0:
        return None, at
    if at + size > len(data):
        raise ValueError(f"{size} bytes that are cut short")
    return data[at : at + size], at + size
