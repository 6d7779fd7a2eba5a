"""The delivery counts with which share coordinators store that records were accepted.

Only an acquisition changes the delivery count of a record, and adds one.  A renewal (KIP-1222), an
acknowledgement and the end of a lock keep it (``DeliveryCountOps.NO_OP`` in ``SharePartition``).  A leader
sends the count with the record, and stores it with the record's state.  The share coordinator keeps state and
count of one acknowledgement together (``PersisterStateBatchCombiner``).  So a record that is Acknowledged has
a count with which a member received it, because only that member can have accepted it.

A member may accept a record by another acquisition than the one that it knows: one by a fetch that was on its
way while the member held the record.  So a record is compared only if each of its deliveries is exact, and
the poll that returned it had sent the only fetch since the delivery before (`loading`).
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NONE, Booleans, GroupPartition, Integers
from checkers.history.operations import History
from checkers.history.share_states import Delivery
from checkers.share_groups.anomalies import STATE_MISCOUNTED
from checkers.share_groups.earlier_rows import codes_of
from checkers.share_groups.loading import ShareGroups
from checkers.share_groups.stored_logs import StoredFinding, StoredLog, stored_logs
from checkers.verdict.verdict import Anomaly


class _Given(NamedTuple):
    """The deliveries of one share partition, in the order of offset and count.

    Attributes:
        offset: shape (n,), offsets.
        count: shape (n,), delivery counts.
        exact: shape (n,), whether no member had a fetch on its way while it held the record.
    """

    offset: Integers
    count: Integers  # type: ignore[assignment]  # the field has the name of a method of tuples
    exact: Booleans

    def miscounted(self, first: int, last: int, count: int) -> list[int]:
        """The offsets from one to another that no member received with a count, ascending."""
        from_row, to_row = np.searchsorted(self.offset, [first, last + 1])
        here = slice(int(from_row), int(to_row))
        offset, exact = self.offset[here], self.exact[here]
        received: Integers = offset[self.count[here] == count]
        found: list[int] = np.setdiff1d(offset[exact], received).tolist()
        return found

    def counts(self, offset: int) -> list[int]:
        """The counts with which members received the record at an offset, ascending."""
        found: list[int] = np.unique(self.count[self.offset == offset]).tolist()
        return found


def miscounted_states(history: History, groups: ShareGroups) -> Iterator[StoredFinding]:
    """Find records that are Acknowledged with a delivery count with which no member received them.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        groups: what members of share groups received.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
        ValueError: its columns are not.
    """
    logs = stored_logs(history)
    given = _given(groups) if logs else {}
    for stored in logs:
        yield from _in_log(stored, given)


def _in_log(stored: StoredLog, given: Mapping[GroupPartition, _Given]) -> Iterator[StoredFinding]:
    reported = set[tuple[GroupPartition, int]]()
    for batch in stored.batches():
        mine = given.get(batch.name)
        if mine is None or batch.state != Delivery.ACKNOWLEDGED:
            continue
        for offset in mine.miscounted(batch.first, batch.last, batch.count):
            if (batch.name, offset) not in reported:
                reported.add((batch.name, offset))
                counts = " and ".join(map(str, mine.counts(offset)))
                text = (
                    f"is Acknowledged with the delivery count {batch.count} by {stored.at(batch.row)}, "
                    f"but members received it with {counts}"
                )
                yield StoredFinding(batch.name, _found(stored, f"{batch.name}@{offset}", text))


def _found(stored: StoredLog, subject: str, text: str) -> Anomaly:
    return STATE_MISCOUNTED.found(
        f"{subject} {text}", subject=subject, time_ns=stored.log.time_ns, witness=(stored.log.op,)
    )


def _given(groups: ShareGroups) -> dict[GroupPartition, _Given]:
    """The deliveries by share partition."""
    all_ = groups.deliveries
    record = codes_of(all_.place, all_.offset)
    exact = np.ones(record.max(initial=NONE) + 1, np.bool_)
    np.logical_and.at(exact, record, all_.exact & (all_.since == all_.asked))
    found = {}
    for code, name in enumerate(groups.places):
        rows = np.flatnonzero(all_.place == code)
        rows = rows[np.lexsort((all_.count[rows], all_.offset[rows]))]
        found[name] = _Given(all_.offset[rows], all_.count[rows], exact[record[rows]])
    return found
