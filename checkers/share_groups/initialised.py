"""Whether a permitted loss explains a finding about stored states: a state may have begun again after it.

If ``__consumer_offsets`` loses the record that says which states a group has, its coordinator initialises the
others again.  Such a state begins with a record of its own: a snapshot without a leader and without states
(`resets`).  So a loss explains what the log has at some record only if such a record is there, at or before
it, and may have been appended after the loss.  The first one of a share partition is its initialisation, and
not another one.  When it was appended is known from later answers to members, not from what it says itself
(`appended`).

The same holds for the log of states: a coordinator reads what is left of it, and goes on from there.  So its
snapshots and leader epochs after a loss agree with what is left.  Start offsets need not, because leaders of
share partitions keep those that they have read (`excuses`).

States that were confirmed to members may be lost with that log, also if no state begins again.  So findings
about members' requests have no such record.
"""

from collections.abc import Iterator

import numpy as np

from checkers.columns.tables import GroupPartition
from checkers.history.operations import History
from checkers.licences.internal import Loss
from checkers.share_groups.appended import AT_THE_END, appended_before, confirmed_acceptances
from checkers.share_groups.loading import ShareGroups, times_of
from checkers.share_groups.stored_logs import StoredLog, StoredRecord, stored_logs

_Begun = tuple[int, int]
"""The row of a record that begins a state again, and a time before which it was appended."""


class Initialised:
    """The records by which states begin again.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        groups: what members of share groups received and acknowledged.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
        ValueError: its columns are not.
    """

    def __init__(self, history: History, groups: ShareGroups) -> None:
        self._begun: dict[GroupPartition, list[_Begun]] = {}
        logs = stored_logs(history)
        accepted = confirmed_acceptances(history, groups) if logs else {}
        times_ns = np.append(times_of(history), AT_THE_END)
        for stored in logs:
            before = np.minimum(appended_before(history, stored, accepted), len(times_ns) - 1)
            for record in _begun_again(stored):
                begun = record.row, int(times_ns[before[record.row]])
                self._begun.setdefault(stored.name_of(record.place), []).append(begun)

    def may_follow(self, loss: Loss, name: GroupPartition, row: int | None) -> bool:
        """Whether a state may have been initialised again after a loss.

        Args:
            loss: a permitted loss.
            name: the share partition.
            row: the last record of its log that counts; None if all count.
        """
        return any(
            before_ns >= loss.from_ns
            for begun, before_ns in self._begun.get(name, ())
            if row is None or begun <= row
        )


def _begun_again(stored: StoredLog) -> Iterator[StoredRecord]:
    """The records that begin a state, except the first one of each share partition.

    If records are missing before the first one that was read, the first initialisation was among these.
    """
    known, gap = set[int](), False
    for record in stored.walk():
        gap |= not record.follows and record.offset > 0
        if record.begun and (gap or record.place in known):
            yield record
        known.add(record.place)
