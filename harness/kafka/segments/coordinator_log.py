"""Reads segments of logs in which coordinators keep their states, with the records decoded."""

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from harness.kafka.segments.batches import HEADER
from harness.kafka.segments.compiled import SearchEnd, batch_positions, checksums
from harness.kafka.segments.records import records_of

_COMPRESSED = 0x07
Content = TypeVar("Content")
Decode = Callable[[bytes | None, bytes | None], Content | None]
"""Decodes key and value of a record; None if Kafka skips such records; raises ValueError for other bytes."""


class Placed(NamedTuple, Generic[Content]):
    """A record, its offset, and the leader epoch in which it was appended."""

    offset: int
    leader_epoch: int
    record: Content


class SegmentRecords(NamedTuple, Generic[Content]):
    """Content of a segment.

    Attributes:
        records: records in the order of the file.
        unread: first offsets of batches that are compressed, or have a record that can't be decoded.
        end: offset after the last whole batch; None if there is none.
        leader_epoch: leader epoch of this batch; -1 if there is none.
        damaged: whether a batch has a wrong checksum, or no batch begins where one should.
        unfinished: whether an incomplete batch, or zeros, follow the last whole batch.
    """

    records: Sequence[Placed[Content]]
    unread: Sequence[int]
    end: int | None
    leader_epoch: int
    damaged: bool
    unfinished: bool


def read_segment(data: bytes, decode: Decode[Content] | None) -> SegmentRecords[Content]:
    """Read the batches of a segment up to the first damaged one; never fails, whatever the bytes are.

    Args:
        data: the segment's bytes.
        decode: decodes records, which takes most of the time; None if they are not needed.
    """
    view = np.frombuffer(data, dtype=np.uint8)
    positions, ended, stop = batch_positions(view)
    headers = [np.frombuffer(data, HEADER, 1, position)[0] for position in positions.tolist()]
    ends = np.append(positions[1:], ended)[: len(positions)]
    crcs = np.array([header["crc"] for header in headers], dtype=np.uint32)
    wrong = np.flatnonzero(checksums(view, positions, ends) != crcs)
    sound = int(wrong[0]) if len(wrong) else len(positions)
    records: list[Placed[Content]] = []
    unread: list[int] = []
    if decode is not None:
        for start, end, header in zip(positions[:sound].tolist(), ends.tolist(), headers, strict=False):
            found = _batch(data[start:end], header, decode)
            records += found or ()
            if found is None:
                unread.append(int(header["base_offset"]))
    torn = stop is SearchEnd.CUT or not view[ended:].any()
    damaged, unfinished = sound < len(positions) or not torn, stop is not SearchEnd.END
    if not sound:
        return SegmentRecords(records, unread, None, -1, damaged, unfinished)
    last = headers[sound - 1]
    end = int(last["base_offset"]) + int(last["last_offset_delta"]) + 1
    return SegmentRecords(records, unread, end, int(last["leader_epoch"]), damaged, unfinished)


def _batch(data: bytes, header: np.void, decode: Decode[Content]) -> list[Placed[Content]] | None:
    """The records of a batch; None if it is compressed, or if one of them can't be decoded."""
    if int(header["attributes"]) & _COMPRESSED:
        return None
    base, epoch = int(header["base_offset"]), int(header["leader_epoch"])
    found: list[Placed[Content]] = []
    try:
        for record in records_of(data, int(header["count"])):
            content = decode(record.key, record.value)
            if content is not None:
                found.append(Placed(base + record.offset_delta, epoch, content))
    except ValueError:
        return None
    return found
