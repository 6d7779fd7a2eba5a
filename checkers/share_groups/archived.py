"""Records that leaders archived and that must have been sent to a dead-letter queue, by the stored states.

If a group has a dead-letter queue, a record that is rejected, or whose delivery count has reached the limit,
becomes Archiving.  Once this is in the log of the share coordinator, the leader writes the dead letter.  The
record becomes Archived only after this write has succeeded, or has failed for good
(``SharePartition.initiateDLQAndArchive``).  Another leader that finds the record Archiving writes the dead
letter again (``SharePartition.maybeResumeDlqArchiving``).  So a record that the log has as Archived has been
through this write.  One that is still Archiving at the end has not.

Other records become Archived without a dead letter: those that are deleted from their topic, those that an
administrator skips, and those of aborted transactions.  So only records that the final reads found count, and
only if one of these is known:

* The log had the record as Archiving before, and the state was not begun again or deleted in between.
* A member asked to reject it, or it is Archived with the delivery count of the limit, and no administrator
  asked for another start offset.

Also, the log must have had the record before the queue was read: a later dead letter was not read
(`appended`).
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, GroupPartition, Integers, PartitionName
from checkers.evidence.loading import columns_of
from checkers.history.operations import History
from checkers.history.share_states import Delivery, Kind
from checkers.share_groups.appended import (
    altered_topics,
    appended_before,
    confirmed_acceptances,
    lacks_records,
)
from checkers.share_groups.loading import ShareGroups
from checkers.share_groups.passing import listed_offsets
from checkers.share_groups.stored_logs import StoredLog, stored_logs

Place = tuple[GroupPartition, int]
"""A share partition, and the offset of a record."""
_NOTHING: Integers = np.zeros(0, np.int64)
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
    known, since = _Known(history, asked), _received(groups)
    for stored in stored_logs(history):
        before = appended_before(history, stored, accepted).tolist()
        doubt, once = lacks_records(history, stored), frozenset(stored.kept())
        for row, place in known.due(stored):
            read_after = asked.read_after[place[0].group]
            until = read_after if doubt else before[row]
            if until <= read_after:
                # A state that begins again may archive the record before members receive it again.
                first = since.get(place, NONE) if place[0] in once else NONE
                yield Archived(place, stored.at(row), stored.log.op, first, until, doubt)


@dataclass(slots=True)
class _Life:
    """The records of a share partition that have become Archiving, and those that are final, in one life."""

    archiving: set[int] = field(default_factory=set)
    final: set[int] = field(default_factory=set)


class _Known:
    """What decides for which records a dead letter is due."""

    def __init__(self, history: History, asked: Asked) -> None:
        self._asked = asked
        self._listed = listed_offsets(columns_of(history))
        self._altered = altered_topics(history)

    def due(self, stored: StoredLog) -> Iterator[tuple[int, Place]]:
        """Yield the rows of a log that archive records for which a dead letter is due, each with a record."""
        lives: defaultdict[int, _Life] = defaultdict(_Life)
        for record in stored.walk():
            name = stored.names[record.place]
            if record.begun or record.kind == Kind.REMOVED or not record.follows:
                lives.pop(record.place, None)
            if name is None or name.group not in self._asked.read_after:
                continue
            life = lives[record.place]
            for first, last, state, count in record.batches:
                there = self._there(name, first, last)
                if state == Delivery.ARCHIVING:
                    life.archiving.update(there)
                elif state in _FINAL:
                    fresh = [offset for offset in there if offset not in life.final]
                    life.final.update(there)
                    if state == Delivery.ARCHIVED:
                        yield from (
                            (record.row, (name, offset))
                            for offset in fresh
                            if offset in life.archiving or self._asked_for(name, offset, count)
                        )

    def _asked_for(self, name: GroupPartition, offset: int, count: int) -> bool:
        """Whether the record was archived because of a rejection or of the limit of deliveries."""
        limit = 0 < self._asked.limit <= count
        asked = limit or (name, offset) in self._asked.rejected
        return asked and (name.group, name.topic) not in self._altered

    def _there(self, name: GroupPartition, first: int, last: int) -> list[int]:
        """The offsets of a batch that have a record at the end."""
        offsets = self._listed.get(PartitionName(name.topic, name.partition), _NOTHING)
        from_row, to_row = np.searchsorted(offsets, [first, last + 1])
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
