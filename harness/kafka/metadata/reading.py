"""Reads a segment or snapshot of a metadata log: its batches, their records, and the end of reading."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from checkers.history.replicas import MetadataRecord
from harness.kafka.metadata.records import DecodedRecord, decode, decode_control
from harness.kafka.segments.batches import HEADER, REASONS
from harness.kafka.segments.compiled import SearchEnd, batch_positions, checksums
from harness.kafka.segments.records import BatchRecord, records_of

NO_OP = "NO_OP_RECORD"
_OFFSET_MAX = 2**61
"""A larger offset means a damaged header, because the checksum does not cover the offset."""
_COMPRESSION, _LOG_APPEND_TIME, _CONTROL = 0x07, 0x08, 0x20


class Header(NamedTuple):
    """A batch's header with the fields on disk (KIP-98); `size` is the number of records."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    first_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    size: int

    @property
    def is_control(self) -> bool:
        """Whether its records are control records of the quorum."""
        return bool(self.attributes & _CONTROL)

    @property
    def time_type(self) -> str:
        """The type of its timestamps, as Kafka names it."""
        return "LogAppendTime" if self.attributes & _LOG_APPEND_TIME else "CreateTime"

    def timestamp(self, record: BatchRecord) -> int:
        """The time when one of its records was created, or appended."""
        if self.attributes & _LOG_APPEND_TIME:
            return self.max_timestamp
        return self.first_timestamp + record.timestamp_delta


class Read(NamedTuple):
    """A record and its content, or the reason why it can't be decoded."""

    record: BatchRecord
    decoded: DecodedRecord | None
    problem: str | None


class MetadataBatch(NamedTuple):
    """One batch of a metadata log.

    Attributes:
        header: its header.
        sound: whether its checksum is correct.
        records: its records, as far as they can be distinguished.
        problem: the reason why the first undecodable record can't be decoded; None if there is none.
    """

    header: Header
    sound: bool
    records: tuple[Read, ...]
    problem: str | None

    def journal_records(self) -> list[MetadataRecord]:
        """All records, except one that changes nothing and is alone in its batch.

        A leader that is delayed writes several such records in one batch.  These are returned, so that a
        batch of several records without any decoded one is a batch that could not be decoded.
        """
        first, epoch = self.header.base_offset, self.header.leader_epoch
        return [
            MetadataRecord(
                first + read.record.offset_delta, epoch, read.decoded.kind, read.decoded.content or None
            )
            for read in self.records
            if read.decoded is not None and (self.header.size > 1 or read.decoded.kind != NO_OP)
        ]


class MetadataFile(NamedTuple):
    """The content of a file.

    Attributes:
        batches: position and content of each, in their order.
        left: number of bytes after the last complete batch.
        problem: the reason why these bytes can't begin a batch, or the first problem of a batch.
    """

    batches: tuple[tuple[int, MetadataBatch], ...]
    left: int
    problem: str | None

    def journal_records(self) -> list[MetadataRecord]:
        """The records of all batches."""
        return [record for _, batch in self.batches for record in batch.journal_records()]


class FileReader:
    """Reads files of the metadata logs of one quorum; data that nodes have in common is decoded once."""

    def __init__(self) -> None:
        self._known: dict[bytes, MetadataBatch] = {}

    def read(self, data: bytes) -> MetadataFile:
        """Read a file; never fails, whatever the bytes are."""
        view = np.frombuffer(data, dtype=np.uint8)
        positions, ended, stop = batch_positions(view)
        starts, ends = positions.tolist(), [*positions[1:].tolist(), ended]
        sums = checksums(view, positions, np.array(ends[: len(starts)], dtype=np.int64)).tolist()
        batches = tuple(
            (start, self._batch(data[start:end], crc))
            for start, end, crc in zip(starts, ends, sums, strict=False)
        )
        problem = next((batch.problem for _, batch in batches if batch.problem is not None), None)
        if problem is None and stop not in (SearchEnd.END, SearchEnd.CUT) and view[ended:].any():
            problem = f"no batch begins at position {ended}: {REASONS[stop]}"
        return MetadataFile(batches, len(data) - ended, problem)

    def _batch(self, data: bytes, checksum: int) -> MetadataBatch:
        known = self._known.get(data)
        if known is None:
            known = self._known[data] = _batch(data, checksum)
        return known


def _batch(data: bytes, checksum: int) -> MetadataBatch:
    header = Header(*np.frombuffer(data, HEADER, 1)[0].item())
    sound = header.crc == checksum
    if header.attributes & _COMPRESSION:
        return MetadataBatch(header, sound, (), f"the batch at offset {header.base_offset} is compressed")
    records: list[Read] = []
    problem = None
    try:
        decoder = decode_control if header.is_control else decode
        offsets = range(header.last_offset_delta + 1 if 0 <= header.base_offset <= _OFFSET_MAX else 0)
        records.extend(_read(record, offsets, decoder) for record in records_of(data, header.size))
    except ValueError as error:
        problem = f"the batch at offset {header.base_offset}: {error}"
    for read in records:
        if read.problem is not None:
            problem = f"the record at offset {header.base_offset + read.record.offset_delta}: {read.problem}"
            break
    return MetadataBatch(header, sound, tuple(records), problem)


def _read(record: BatchRecord, offsets: range, decoder: Callable[[BatchRecord], DecodedRecord]) -> Read:
    if record.offset_delta not in offsets:
        return Read(record, None, "it is outside of its batch")
    try:
        return Read(record, decoder(record), None)
    except ValueError as error:
        return Read(record, None, str(error))
