"""Whether a group of KIP-848's protocol gets a new epoch when a member is removed from it.

A coordinator that removes members, because they left or were silent, writes three records that delete each of
them, and then the group's next epoch, in one batch (Kafka 4.0 to 4.4,
``GroupMetadataManager.consumerGroupFenceMembers``).  In two cases it raises no epoch:

- *A static member comes back with a new id*: the records that delete the old member are followed by those of
  the new one, its subscription first (``GroupMetadataManager.replaceMember``).
- *The group is deleted, or becomes a classic one*: the assignments of all members are deleted, then the
  target assignment (``ConsumerGroup.createConsumerGroupTombstoneRecords``).

Older runs did not report subscriptions.  In their logs the epoch that is raised when the next member joins
hides a removal that raised none.
"""

from dataclasses import dataclass

from checkers.evidence.offsets_log import GroupEntry

_OF_ONE_MEMBER = 3
"""Number of records that delete a member."""
_TOGETHER = frozenset({1, _OF_ONE_MEMBER})
"""Distances of the records that delete the assignments of two members that are removed together."""


@dataclass(slots=True)
class _Removal:
    """A removal after which the group's epoch was not raised yet.

    Attributes:
        entry: the record that deletes the assignment of the member that was removed last.
        successor: the first member whose subscription was written after it.
    """

    entry: GroupEntry
    successor: str | None = None


class Removals:
    """Follows the removals of members in a gapless part of a log."""

    def __init__(self) -> None:
        self._pending: dict[str, _Removal] = {}

    def forget(self, group: str) -> None:
        """A group became a classic one, or what was read of it is unknown."""
        self._pending.pop(group, None)

    def after(self, entry: GroupEntry, *, known: bool) -> GroupEntry | None:
        """The removal before a record that must have raised the group's epoch and did not; None without one.

        Args:
            entry: a record of a group, of its target assignment, or of a member.
            known: whether the log has an earlier record of this member that was not deleted.
        """
        record = entry.record
        pending = self._pending.get(record.group)
        if record.what == "subscription":
            if pending is not None and record.epoch is not None and pending.successor is None:
                pending.successor = record.member
            return None
        if record.what == "member" and record.epoch is None:
            self._pending[record.group] = _Removal(entry)
            if pending is None:
                return None
            distance = record.offset - pending.entry.record.offset
            return None if pending.successor is None and distance in _TOGETHER else pending.entry
        if pending is None:
            return None
        self.forget(record.group)
        return pending.entry if self._contradicts(pending, entry, known=known) else None

    def _contradicts(self, pending: _Removal, entry: GroupEntry, *, known: bool) -> bool:
        """Whether a record can't be the next one after a removal that raised the epoch or needed not to."""
        record = entry.record
        if record.epoch is None:
            return False
        if record.what == "group":
            return pending.successor is not None
        if record.what == "target":
            return True
        return known if pending.successor is None else pending.successor != record.member
