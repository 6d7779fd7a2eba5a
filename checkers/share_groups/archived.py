"""Records that leaders archived and that must have been sent to a dead-letter queue, by the stored states.

If a group has a dead-letter queue, a record that is rejected, or whose delivery count has reached the limit,
becomes Archiving.  Once this is in the log of the share coordinator, the leader writes the dead letter.  The
record becomes Archived only after this write has succeeded, or has failed for good
(``SharePartition.initiateDLQAndArchive``).  Another leader that finds the record Archiving writes the dead
letter again (``SharePartition.maybeResumeDlqArchiving``).  So a record that the log has as Archived has been
through this write.  One that is still Archiving at the end has not.

Other records become Archived without a dead letter: those that are deleted from their topic, and those of
aborted transactions.  So only records that the final reads found count, of states that were never deleted or
begun again, and only if one of these is known:

* the log had the record as Archiving before;
* a member asked to reject it;
* it is Archived with the delivery count of the limit.

Also, the log must have had the record before the queue was read: a later dead letter was not read
(`appended`).
"""

from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, GroupPartition, Integers, PartitionName
from checkers.evidence.loading import columns_of
from checkers.history.operations import History
from checkers.history.share_states import Delivery
from checkers.share_groups.appended import appended_before, confirmed_acceptances, lacks_records
from checkers.share_groups.loading import ShareGroups
from checkers.share_groups.passing import listed_offsets
from checkers.share_groups.stored_logs import StoredBatch, StoredLog, stored_logs

Place = tuple[GroupPartition, int]
"""A share partition, and the offset of a record."""
_FINAL = (Delivery.ACKNOWLEDGED, Delivery.ARCHIVED)


class Archived(NamedTuple):
    """A record that was archived.

    Attributes:
        place: where the record is.
        at: the record of the share coordinator's log that has it as Archived.
        op: the observation of that log.
        since: position in the history after which the record was archived; `NONE` if unknown.
        until: position before which the log had it as Archived.
        doubt: why it may have been archived later; None if it was not.
    """

    place: Place
    at: str
    op: int
    since: int
    until: int
    doubt: str | None


class Asked(NamedTuple):
    """What members asked for, and what a group's queue can show.

    Attributes:
        rejected: every record that a member asked to reject, whatever the outcome.
        limit: largest legal delivery count; 0 if unknown.
        read_after: by group, the position in the history at which the first read of its queue began.
    """

    rejected: Collection[Place]
    limit: int
    read_after: Mapping[str, int]


def archived_records(history: History, groups: ShareGroups, asked: Asked) -> Iterator[Archived]:
    """Yield the records of groups with a queue that had been archived before the queue was read.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        groups: what members of share groups received and acknowledged.
        asked: what members asked for, and when the queues were read.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
        ValueError: its columns are not.
    """
    accepted = confirmed_acceptances(history, groups)
    listed, since = listed_offsets(columns_of(history)), _received(groups)
    for stored in stored_logs(history):
        before = appended_before(history, stored, accepted).tolist()
        doubt = lacks_records(history, stored)
        for batch, offset in _in_log(stored, asked, listed):
            place, read_after = (batch.name, offset), asked.read_after[batch.name.group]
            until = read_after if doubt else before[batch.row]
            if until <= read_after:
                at = stored.at(batch.row)
                yield Archived(place, at, stored.log.op, since.get(place, NONE), until, doubt)


def _in_log(
    stored: StoredLog, asked: Asked, listed: Mapping[PartitionName, Integers]
) -> Iterator[tuple[StoredBatch, int]]:
    """The batches that archive records for which a dead letter is due, each with the offset of one."""
    kept, archiving, final = frozenset(stored.kept()), set[Place](), set[Place]()
    for batch in stored.batches():
        if batch.name not in kept or batch.name.group not in asked.read_after:
            continue
        for offset in _there(batch, listed):
            place = batch.name, offset
            if batch.state == Delivery.ARCHIVING:
                archiving.add(place)
            elif batch.state in _FINAL and place not in final:
                final.add(place)
                due = place in archiving or place in asked.rejected or 0 < asked.limit <= batch.count
                if due and batch.state == Delivery.ARCHIVED:
                    yield batch, offset


def _there(batch: StoredBatch, listed: Mapping[PartitionName, Integers]) -> list[int]:
    """The offsets of a batch that have a record at the end."""
    offsets = listed.get(PartitionName(batch.name.topic, batch.name.partition), np.zeros(0, np.int64))
    from_row, to_row = np.searchsorted(offsets, [batch.first, batch.last + 1])
    here: list[int] = offsets[from_row:to_row].tolist()
    return here


def _received(groups: ShareGroups) -> dict[Place, int]:
    """For each record that members received, a position after which it was acquired for the first time."""
    all_ = groups.deliveries
    found: dict[Place, int] = {}
    for code, offset, since in zip(
        *(one.tolist() for one in (all_.place, all_.offset, all_.since)), strict=True
    ):
        place = groups.places[code], offset
        found[place] = min(since, found.get(place, since))
    return found
