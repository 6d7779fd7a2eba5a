"""Control records of a metadata log (KIP-595, KIP-853): read from a node's files, compared between nodes."""

import struct
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from checkers.history.replicas import OPAQUE_CONTROL
from harness.kafka.metadata.records import CONTROL_KINDS, control_type, decode_control
from harness.kafka.segments.batches import read_segment
from harness.kafka.segments.compiled import HEADER_BYTES, batch_positions
from harness.kafka.segments.records import BatchRecord, records_of

_SKIPPED = ("SNAPSHOT_HEADER", "SNAPSHOT_FOOTER")
_CONTROL_BIT = 0x20
_HEAD = struct.Struct(">qii5xHi")
"""Batch header: base offset, length, epoch, (magic, checksum,) attributes, last offset delta."""
_LENGTH_COUNTS_FROM = 12
_COUNT = struct.Struct(">i")
"""The number of records, at the end of the header."""
_NO_ID = "A" * 22
"""The id that means no directory."""
_LISTINGS_MAX = 5
_FORMATTED = f"{0:020}-{0:010}.checkpoint"
"""The snapshot that formatting a disk writes."""

MessageFields = Mapping[str, Any]
"""Fields of a Kafka message, named as in its definition."""


class _Head(NamedTuple):
    """Batch header: position, bytes, first offset, offset after its last, epoch, attributes, records."""

    position: int
    size: int
    first: int
    end: int
    epoch: int
    attributes: int
    records: int


class ControlRecord(msgspec.Struct, frozen=True):
    """One control record.

    Attributes:
        offset: its offset; in a snapshot, its index in that file.
        epoch: epoch of the leader that wrote it.
        kind: ``LEADER_CHANGE``, ``KRAFT_VERSION``, ``KRAFT_VOTERS``, ``CONTROL_<type>`` for other types, or
            ``CONTROL`` if not even the type can be read.
        content: decoded; None if its type or version is unknown.
        error: the reason why it could not be decoded.
    """

    offset: int
    epoch: int
    kind: str
    content: dict[str, Any] | None
    error: str | None = None


class DamagedPlace(NamedTuple):
    """A position in a file at which there is no valid batch, and the reason."""

    file: str
    position: int
    reason: str


class NodeControlRecords(msgspec.Struct, frozen=True):
    """The control records on one node's disk.

    Attributes:
        start: offset of the first segment; earlier records can only be in a snapshot.
        end: offset after the last whole batch.
        records: records of the log, in order.
        snapshots: records of each snapshot by the file's name, in order.
        epochs: leader epochs of the log's batches and the first offset of each, in order.
        damage: places without a valid batch.
        error: the reason why nothing could be read.
    """

    start: int = 0
    end: int = 0
    records: tuple[ControlRecord, ...] = ()
    snapshots: dict[str, tuple[ControlRecord, ...]] = {}
    epochs: tuple[tuple[int, int], ...] = ()
    damage: tuple[DamagedPlace, ...] = ()
    error: str | None = None

    def covers(self, offset: int) -> bool:
        """Whether the log has a record at this offset, of any kind."""
        return self.start <= offset < self.end

    def epoch_at(self, offset: int) -> int:
        """Epoch of the batch that has this offset; -1 if there is none."""
        before = bisect_right(self.epochs, offset, key=lambda each: each[1])
        return self.epochs[before - 1][0] if before and self.covers(offset) else -1


class Difference(msgspec.Struct, frozen=True):
    """A place that several nodes have, but with different records.

    Attributes:
        snapshot: name of the snapshot's file, None for the log.
        offset: offset in the log, or index in the snapshot.
        seen: each node's record there, None if it is no control record.
        epochs: epoch of each node's record there; empty for a snapshot.
    """

    snapshot: str | None
    offset: int
    seen: dict[str, ControlRecord | None]
    epochs: dict[str, int] = {}

    @property
    def is_contradiction(self) -> bool:
        """Whether it can't be a tail that a node will truncate; such a tail has another epoch (KIP-595)."""
        held = {(self.epochs[node], repr(record)) for node, record in self.seen.items() if self.epochs}
        return not self.epochs or len({epoch for epoch, _ in held}) < len(held)


def read_metadata_log(folder: Path, read: Callable[[Path], bytes] = Path.read_bytes) -> NodeControlRecords:
    """Read the control records of a node's ``__cluster_metadata-0``; the node may be running.

    Args:
        folder: the partition's folder, or a copy of it.
        read: reads one file.
    """
    try:
        contents = _contents(folder, read)
    except OSError as error:
        return NodeControlRecords(error=f"{error.strerror or error}: {error.filename or folder}")
    segments = {name: data for name, data in contents.items() if name.endswith(".log")}
    if not segments:
        return NodeControlRecords(error=f"no segment in {folder}")
    damage = [
        DamagedPlace(name, place.position, place.reason)
        for name, data in contents.items()
        for place in read_segment(data).damage
    ]
    heads = [head for data in segments.values() for head in _heads(data)]
    return NodeControlRecords(
        start=int(next(iter(segments)).removesuffix(".log")),
        end=heads[-1].end if heads else int(list(segments)[-1].removesuffix(".log")),
        records=tuple(record for data in segments.values() for record in control_records(data)),
        snapshots={
            name: tuple(control_records(data)) for name, data in contents.items() if name not in segments
        },
        epochs=tuple(_epochs(heads)),
        damage=tuple(damage),
    )


def control_records(data: bytes) -> Iterator[ControlRecord]:
    """The valid control records of a segment or snapshot, without a snapshot's header and footer."""
    damaged = {place.position for place in read_segment(data).damage}
    for head in _heads(data):
        if head.attributes & _CONTROL_BIT and head.position not in damaged:
            yield from _of_batch(data[head.position : head.position + head.size], head)


def _of_batch(batch: bytes, head: _Head) -> Iterator[ControlRecord]:
    offset = head.first
    try:
        for record in records_of(batch, head.records):
            offset = head.first + record.offset_delta
            decoded = _decoded(record, offset, head.epoch)
            if decoded.kind not in _SKIPPED:
                yield decoded
    except ValueError as error:
        yield ControlRecord(offset, head.epoch, "CONTROL", None, str(error))


def first_difference(logs: Mapping[str, NodeControlRecords]) -> Difference | None:
    """The first place at which nodes differ: in the log by offset, then in snapshots of the same name.

    Logs of one quorum have the same record at the same offset, except for an uncommitted tail on a node
    that has had no contact with the leader since (KIP-595).  Snapshots have only committed records (KIP-630).
    The first snapshot is not replicated: each node writes its own when its disk is formatted.  It has no
    voters if the disk was formatted without initial voters; since 4.4.0 it exists even then (KIP-853).

    Args:
        logs: logs by node; logs that could not be read are ignored.
    """
    readable = {node: log for node, log in logs.items() if log.error is None}
    return _first_in_logs(readable) or _first_in_snapshots(readable)


def _first_in_logs(logs: Mapping[str, NodeControlRecords]) -> Difference | None:
    held = {node: {record.offset: record for record in log.records} for node, log in logs.items()}
    for offset in sorted({offset for records in held.values() for offset in records}):
        seen = {node: held[node].get(offset) for node, log in logs.items() if log.covers(offset)}
        if _differ(seen.values()):
            return Difference(None, offset, seen, {node: logs[node].epoch_at(offset) for node in seen})
    return None


def _first_in_snapshots(logs: Mapping[str, NodeControlRecords]) -> Difference | None:
    for name in sorted({name for log in logs.values() for name in log.snapshots}):
        held = {node: log.snapshots[name] for node, log in logs.items() if name in log.snapshots}
        short = {node for node, records in held.items() if name == _FORMATTED and _lacks_voters(records)}
        for place in range(max(map(len, held.values()))):
            seen = {
                node: records[place] if place < len(records) else None
                for node, records in held.items()
                if place < len(records) or node not in short
            }
            if _differ(seen.values()):
                return Difference(name, place, seen)
    return None


def _lacks_voters(formatted: Iterable[ControlRecord]) -> bool:
    """Whether a disk was formatted without initial voters; its snapshot then only has the KRaft version."""
    return [record.kind for record in formatted] == ["KRAFT_VERSION"]


def _differ(seen: Iterable[ControlRecord | None]) -> bool:
    first, *others = seen
    return any(other != first for other in others)


def _contents(folder: Path, read: Callable[[Path], bytes]) -> dict[str, bytes]:
    """Segments and snapshots by name, in the order of names.

    Raises:
        OSError: they can't be read, or are replaced again and again.
    """
    for _ in range(_LISTINGS_MAX):
        names = sorted(path.name for path in folder.iterdir() if path.suffix in (".log", ".checkpoint"))
        try:
            return {name: read(folder / name) for name in names}
        except FileNotFoundError as error:  # deleted since: a snapshot replaces older files
            last = error
    raise last


def _heads(data: bytes) -> Iterator[_Head]:
    """The needed fields of the headers of all complete batches."""
    for position in batch_positions(np.frombuffer(data, dtype=np.uint8)).positions.tolist():
        base, length, epoch, attributes, delta = _HEAD.unpack_from(data, position)
        (count,) = _COUNT.unpack_from(data, position + HEADER_BYTES - _COUNT.size)
        yield _Head(position, _LENGTH_COUNTS_FROM + length, base, base + delta + 1, epoch, attributes, count)


def _epochs(heads: Iterable[_Head]) -> Iterator[tuple[int, int]]:
    last = None
    for head in heads:
        if head.epoch != last:
            yield head.epoch, head.first
        last = head.epoch


def _decoded(record: BatchRecord, offset: int, epoch: int) -> ControlRecord:
    """The record, decoded for the report.

    Raises:
        ValueError: not even its type can be read.
    """
    kind = control_type(record)
    name = CONTROL_KINDS.get(kind)
    if name is None:
        return ControlRecord(offset, epoch, f"CONTROL_{kind}", None)
    try:
        decoded = decode_control(record)
    except ValueError as error:
        return ControlRecord(offset, epoch, name, None, str(error))
    if decoded.kind == OPAQUE_CONTROL:
        return ControlRecord(offset, epoch, name, None, f"version {decoded.version} is not known")
    return ControlRecord(offset, epoch, name, _CONTENTS.get(name, dict)(decoded.content))


def _kraft_version(message: MessageFields) -> dict[str, object]:
    return {"kraft_version": message["kRaftVersion"]}


def _voters(message: MessageFields) -> dict[str, object]:
    return {"voters": [_voter(voter) for voter in message["voters"]]}


def _voter(voter: MessageFields) -> dict[str, object]:
    supported = voter["kRaftVersionFeature"]
    return {
        "id": voter["voterId"],
        "directory_id": _directory_id(voter),
        "endpoints": [[each["name"], each["host"], each["port"]] for each in voter["endpoints"]],
        "kraft_versions": [supported["minSupportedVersion"], supported["maxSupportedVersion"]],
    }


def _leader_change(message: MessageFields) -> dict[str, object]:
    return {
        "leader_id": message["leaderId"],
        "voters": _keys(message["voters"]),
        "granting_voters": _keys(message["grantingVoters"]),
    }


def _keys(voters: Sequence[MessageFields]) -> list[list[object]]:
    return [[voter["voterId"], _directory_id(voter)] for voter in voters]


def _directory_id(voter: MessageFields) -> str | None:
    """The directory id in base64; None if it is absent or zero."""
    recorded = voter.get("voterDirectoryId", _NO_ID)
    return None if recorded == _NO_ID else str(recorded)


_CONTENTS: Mapping[str, Callable[[MessageFields], dict[str, object]]] = {
    "LEADER_CHANGE": _leader_change,
    "KRAFT_VERSION": _kraft_version,
    "KRAFT_VOTERS": _voters,
}
