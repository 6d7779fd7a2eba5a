"""The recorded data of one replica's log: the values of ``replica``, ``metadata-log`` and other observations.

The fields are those of docs/histories.md, section Replicas.  Batches are packed (`checkers.history.packing`).
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from checkers.history.operations import Operation
from checkers.history.packing import ROWS_FREE, Types, problem_with, unpack, unpacked_rows

REPLICA = "replica"
METADATA_LOG = "metadata-log"
FOLDERS = "folders"
ABORTED = "aborted-transactions"
EVIDENCE_REPLICAS = "replicas"
EVIDENCE_METADATA = "metadata-log"
EVIDENCE_FOLDERS = "folders"
EVIDENCE_ABORTED = "aborted-transactions"
METADATA_TOPIC = "__cluster_metadata"
OPAQUE, OPAQUE_CONTROL = "OPAQUE_RECORD", "CONTROL"
"""Types of records, and of control records, whose own type or version was unknown when they were read."""

COLUMN_TYPES: Types = {
    "base_offset": np.dtype("<i8"),
    "last_offset": np.dtype("<i8"),
    "leader_epoch": np.dtype("<i4"),
    "producer_id": np.dtype("<i8"),
    "producer_epoch": np.dtype("<i2"),
    "base_sequence": np.dtype("<i4"),
    "count": np.dtype("<i4"),
    "crc": np.dtype("<u4"),
    "attributes": np.dtype("<u2"),
    "control": np.dtype("<i2"),
    "coordinator_epoch": np.dtype("<i4"),
}
"""Every column of a replica's batches, and the type of its numbers."""

Natural = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
Tail = tuple[str, Natural, Natural, Literal["cut", "zeros"]]
Corrupt = tuple[str, Natural, int | None, str]


class MetadataRecord(NamedTuple):
    """One decoded record of a metadata log.

    Attributes:
        offset: its offset.
        epoch: the epoch of the leader that appended it.
        kind: its type, such as ``TOPIC_RECORD``.
        content: its fields; None if it has none.
    """

    offset: Natural
    epoch: int
    kind: str
    content: Any


class ReplicaUnread(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded value for a log that could not be read: a `ReplicaSeen` without batches, and the reason.

    Attributes:
        began_ns: when reading began, nanoseconds of the history's clock.
        topic: topic of the log.
        partition: partition of the log.
        count: number of batches.
        batches: the columns; none.
        error: why the log could not be read.
    """

    began_ns: Natural
    topic: str
    partition: int
    count: Literal[0] = 0
    batches: dict[str, str] = {}
    error: str | None


class ReplicaSeen(msgspec.Struct, frozen=True, kw_only=True):
    """One replica's log, on one node's disk.

    Attributes:
        began_ns: when reading began, nanoseconds of the history's clock.
        topic: topic of the log.
        partition: partition of the log.
        topic_id: id of the topic that the folder belongs to, if the node knew it.
        log_start: first offset that the node still serves.
        end: offset after the last whole batch.
        segments: number of files.
        active: base offset of the last segment.
        left: packed offsets of all records of data batches that have fewer records than offsets.
        bytes: size of these files.
        count: number of batches.
        tail: file, position, size and kind of what is after the last whole batch.
        corrupt: file, position, offset and reason of each damaged batch.
        error: why the log could not be read.
        batches: packed columns by name; none if the log could not be read.
    """

    began_ns: Natural
    topic: str
    partition: Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
    topic_id: str | None = None
    log_start: Natural | None = None
    end: Natural | None = None
    segments: Natural = 0
    active: Natural | None = None
    left: str | None = None
    bytes: Natural = 0
    count: Natural
    tail: Tail | None = None
    corrupt: list[Corrupt] = []
    error: str | None = None
    batches: dict[str, str]


class MetadataLogUnread(ReplicaUnread, frozen=True, kw_only=True):
    """The recorded value for a metadata log whose copies could not be read.

    Attributes:
        records: the decoded records; none.
        checkpoint: the newest snapshot; none.
        decoder_error: why there are no decoded records.
    """

    records: list[MetadataRecord] = []
    checkpoint: tuple[str, list[MetadataRecord]] | None = None
    decoder_error: str | None = None


class MetadataLogUncopied(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded value for a metadata log that could not be copied; fields as in `MetadataLogUnread`."""

    topic: str = METADATA_TOPIC
    partition: Literal[0] = 0
    count: Literal[0] = 0
    batches: dict[str, str] = {}
    began_ns: Natural
    error: str
    decoder_error: str


class MetadataLogSeen(ReplicaSeen, frozen=True, kw_only=True):
    """One node's metadata log, with its records decoded.

    Attributes:
        records: offset, epoch, type and content of each, in the order of the log.
        checkpoint: name and records of the newest snapshot.
        decoder_error: why there are no decoded records.
    """

    records: list[MetadataRecord] = []
    checkpoint: tuple[str, list[MetadataRecord]] | None = None
    decoder_error: str | None = None


class FoldersSeen(msgspec.Struct, frozen=True, omit_defaults=True):
    """Folders of partitions in one broker's log directories.

    Attributes:
        began_ns: when reading began, nanoseconds of the history's clock.
        folders: the names of the folders, each with the id of its topic.
        unread: the names of log directories and of folders that could not be read; None if an older run does
            not report them.
    """

    began_ns: Natural
    folders: list[tuple[str, str]]
    unread: list[str] | None = None


class AbortedTransaction(NamedTuple):
    """An entry of a segment's index of aborted transactions.

    Attributes:
        producer_id: whose transaction was aborted.
        first_offset: offset of its first record.
        last_offset: offset of the marker that ended it.
        stable_offset: the last stable offset after this marker.
    """

    producer_id: Natural
    first_offset: Natural
    last_offset: Natural
    stable_offset: Natural


class SegmentIndex(NamedTuple):
    """The index of aborted transactions of one segment.

    Attributes:
        segment: base offset of the segment.
        entries: the entries, in the order of the file; none if there is no file.
        problem: what follows these entries, if that is no entry.
    """

    segment: Natural
    entries: list[AbortedTransaction]
    problem: str | None = None


class AbortedSeen(msgspec.Struct, frozen=True, kw_only=True):
    """The aborted transactions that one replica has in its indexes, read after its log was read.

    Attributes:
        began_ns: when reading began, nanoseconds of the history's clock.
        topic: topic of the log.
        partition: partition of the log.
        segments: the index of each segment, ascending; segments that were deleted meanwhile are left out.
        error: why the indexes could not be read.
    """

    began_ns: Natural
    topic: str
    partition: Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
    segments: list[SegmentIndex] = []
    error: str | None = None


def columns_problem(value: ReplicaSeen) -> str | None:
    """The problem with the columns of an observation, or None.

    A log that could not be read has no columns.  Any other log has all columns, each of length `count`.
    """
    if value.error is not None and not value.batches:
        return None
    if value.end is None or value.log_start is None:
        return "Expected log_start and end, or an error and no batches"
    return problem_with(_require_columns, value)


def _require_columns(value: ReplicaSeen) -> None:
    """Require that a log's columns can be unpacked, and that its offsets fit them."""
    offsets_left(value, unpacked_rows(value.batches, value.count, COLUMN_TYPES, "batches"))


def thinned(columns: Mapping[str, NDArray[np.integer]]) -> NDArray[np.integer]:
    """Rows of batches that have records, but fewer records than offsets, as after compaction."""
    span = columns["last_offset"] - columns["base_offset"] + 1
    return np.flatnonzero((columns["count"] > 0) & (columns["count"] < span))


def offsets_left(
    value: ReplicaSeen, columns: Mapping[str, NDArray[np.integer]]
) -> NDArray[np.integer] | None:
    """Offsets of all records of batches that lost some; None if not reported.

    Args:
        value: the observation.
        columns: its columns, unpacked.

    Raises:
        ValueError: their number differs from the number of records in the batches.
    """
    if value.left is None:
        return None
    count = int(columns["count"][thinned(columns)].sum(dtype=np.int64))
    if count > max(ROWS_FREE, len(value.left)):
        raise ValueError(f"Expected at most {len(value.left):,} offsets in so many characters, got {count:,}")
    return unpack(value.left, "base_offset", count, COLUMN_TYPES)


def replica_seen(operation: Operation) -> ReplicaSeen:
    """The value of a ``replica`` or ``metadata-log`` observation.

    Raises:
        msgspec.ValidationError: it is not as docs/histories.md says.
    """
    kind = MetadataLogSeen if operation.key == METADATA_LOG else ReplicaSeen
    return msgspec.convert(operation.value, kind)
