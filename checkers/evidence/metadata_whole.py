"""Whether the nodes' metadata logs were recorded without gaps.

The records of a log are recorded twice: by its batches, and decoded.  Records that change nothing
(NO_OP_RECORD) are left out of the decoded ones only if each is alone in its batch.  So at least one record of
a batch of several is decoded.  The same batch has the same records in all nodes' logs.  A log that begins
above offset 0 proves nothing without a snapshot of the records below.  A record whose type or version was
unknown when it was read proves nothing either.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec
import numpy as np

from checkers.columns.tables import Integers
from checkers.history.operations import History, once
from checkers.history.packing import unpack
from checkers.history.replicas import COLUMN_TYPES, METADATA_LOG, OPAQUE, OPAQUE_CONTROL, MetadataLogSeen

_COLUMNS = ("base_offset", "last_offset", "count", "control", "crc")


class _Decoded(NamedTuple):
    """A log's batches, and the number of decoded records of each; all arrays have the shape (batches,)."""

    node: str
    base: Integers
    size: Integers
    control: Integers
    crc: Integers
    records: Integers


@once
def thinned_logs(history: History) -> Mapping[int, str]:
    """Incomplete metadata logs: from the index of the observation to a text about the missing records.

    Raises:
        msgspec.ValidationError, ValueError: an observation is not as docs/histories.md says.
    """
    decoded: dict[int, _Decoded] = {}
    for operation in history.observed(METADATA_LOG):
        seen = msgspec.convert(operation.value, MetadataLogSeen)
        if seen.error is None and seen.decoder_error is None and seen.batches:
            decoded[operation.index] = _decoded(operation.node or "a node", seen)
    return dict(_thin(decoded))


def begun_later(history: History) -> Iterator[str]:
    """Metadata logs that begin above offset 0 without a snapshot of the records below, one text each."""
    for operation in history.observed(METADATA_LOG):
        start = operation.value.get("log_start")
        if start and operation.value.get("checkpoint") is None:
            yield f"{operation.node}'s begins at offset {start}, without a snapshot"


def opaque_records(history: History) -> Iterator[str]:
    """Metadata logs with records that could not be decoded because their layout was unknown, one text each.

    Kafka's own tool, which decoded records before, omitted the content of some control records.
    """
    for operation in history.observed(METADATA_LOG):
        seen = msgspec.convert(operation.value, MetadataLogSeen)
        found = [
            (offset, content)
            for offset, _, kind, content in [*seen.records, *(seen.checkpoint[1] if seen.checkpoint else ())]
            if kind == OPAQUE or (kind == OPAQUE_CONTROL and content is not None)
        ]
        if found:
            offset, content = found[0]
            name = content.get("name", f"type {content['type']}")
            what = f"version {content['version']} of {name} at offset {offset}"
            yield (
                f"{len(found)} records of {operation.node}'s metadata log could not be decoded, first: {what}"
            )


def _decoded(node: str, seen: MetadataLogSeen) -> _Decoded:
    base, last, count, control, crc = (
        unpack(seen.batches[name], name, seen.count, COLUMN_TYPES).astype(np.int64) for name in _COLUMNS
    )
    offsets = np.sort(np.array([record.offset for record in seen.records], dtype=np.int64))
    records = np.searchsorted(offsets, last, side="right") - np.searchsorted(offsets, base, side="left")
    return _Decoded(node, base, count, control, crc, records)


def _thin(logs: Mapping[int, _Decoded]) -> Iterator[tuple[int, str]]:
    """Logs of which a batch lacks records, each with a text about the first such batch."""
    most: dict[tuple[int, int], int] = {}
    for log in logs.values():
        for batch, records in zip(_names(log), log.records.tolist(), strict=True):
            most[batch] = max(records, most.get(batch, 0))
    for index, log in logs.items():
        known = np.array([most[batch] for batch in _names(log)], dtype=np.int64)
        least = np.maximum(known, (log.size > 1) & (log.control < 0))
        short = np.flatnonzero(log.records < least)
        if len(short):
            at = int(short[0])
            held = f"{int(log.records[at])} records of the batch at offset {int(log.base[at])}"
            yield index, f"of {log.node}'s log hold {held}; at least {int(least[at])} are expected"


def _names(log: _Decoded) -> list[tuple[int, int]]:
    """The pairs that identify batches on every node: base offset and checksum."""
    return list(zip(log.base.tolist(), log.crc.tolist(), strict=True))
