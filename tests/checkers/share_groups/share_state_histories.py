"""Observations of the log of a share coordinator, made from its records."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from checkers.history.packing import packed_rows
from checkers.history.share_states import SHARE_BATCH_TYPES, SHARE_STATE_TYPES, Delivery, Kind
from tests.checkers.share_groups.share_histories import GROUP, TOPIC_ID

FREE, DONE, GONE = Delivery.AVAILABLE, Delivery.ACKNOWLEDGED, Delivery.ARCHIVED
Batch = tuple[int, int, int, int]


class Record(NamedTuple):
    """A record of the log: an update unless its kind is another; its offset is its place."""

    batches: Sequence[Batch] = ()
    kind: Kind = Kind.UPDATE
    snapshot: int = 0
    state: int = -1
    leader: int = 0
    offset: int | None = None
    topic_id: str = TOPIC_ID
    start: int = 0


MADE = Record(kind=Kind.SNAPSHOT, state=0, leader=-1)


def states(*records: Record, partition: int = 0, **changes: Any) -> dict[str, Any]:
    """The value of an observation."""
    places: dict[tuple[str, str, int], int] = {}
    rows = [
        (
            place if record.offset is None else record.offset,
            0,
            places.setdefault((GROUP, record.topic_id, 0), len(places)),
            record.kind,
            record.snapshot,
            record.state,
            record.leader,
            record.start,
            len(record.batches),
        )
        for place, record in enumerate(records)
    ]
    batches = [batch for record in records for batch in record.batches]
    value = {"began_ns": 1, "partition": partition, "end": rows[-1][0] + 1 if rows else 0, "unread": []}
    value |= {"places": [[*place] for place in places], "count": len(rows), "error": None}
    value |= {"columns": packed_rows(rows, SHARE_STATE_TYPES), "batch_count": len(batches)}
    return value | {"batches": packed_rows(batches, SHARE_BATCH_TYPES)} | changes


def done(*offsets: int, state: int = DONE, count: int = 1) -> Record:
    return Record([(offset, offset, state, count) for offset in offsets])
