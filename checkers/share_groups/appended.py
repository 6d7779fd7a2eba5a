"""By when a record was in the log of a share coordinator, as the answers to acceptances show.

The log has no times.  A leader confirms an acceptance once the log has it.  So the first record that has it,
and all records before that one, were appended before the answer.  No clock is compared.

An answer does not show this in these cases, so it is left out:

* The leader ignores acknowledgements below the start offset, and confirms them.  It may have moved the start
  offset because the lock of a last delivery ended, because an administrator set it, or because the record was
  deleted from its topic.
* The log is not whole, or it may have lost records, so that its first record with the state is a later one.
* A journal of a client is missing, so that it is unknown what members and administrators did.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping

import numpy as np

from checkers.columns.tables import NONE, Booleans, GroupPartition, Integers, PartitionName
from checkers.evidence.administration import requests_of
from checkers.evidence.coordinators import SHARES_TOPIC
from checkers.evidence.loading import columns_of
from checkers.history.operations import History
from checkers.history.setup import recorded_setup
from checkers.history.share_states import Delivery
from checkers.history.sources import Source, lacking
from checkers.history.units import NS_PER_MS
from checkers.licences.internal import may_have_lost
from checkers.share_groups.loading import ACCEPT, DELETES, SETS, ShareGroups, times_of
from checkers.share_groups.passing import listed_offsets
from checkers.share_groups.stored_logs import StoredLog

AT_THE_END = np.iinfo(np.int64).max
"""Position of no operation: a record may have been appended at any time until its log was read."""
Accepted = Mapping[GroupPartition, Mapping[int, int]]
"""By share partition and offset, the position of the first answer that confirms an acceptance."""


def confirmed_acceptances(history: History, groups: ShareGroups) -> Accepted:
    """The answers before which the log had the acceptance.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        groups: what members of share groups received and acknowledged.
    """
    found: dict[GroupPartition, dict[int, int]] = defaultdict(dict)
    if lacking(history, Source.CLIENTS):
        return found
    acks, all_, listed = groups.acknowledgements, groups.deliveries, listed_offsets(columns_of(history))
    altered = altered_topics(history)
    rows = np.flatnonzero((acks.kind == ACCEPT) & unspent(history, groups))
    place, offset = all_.place[acks.delivery[rows]], all_.offset[acks.delivery[rows]]
    for code, name in enumerate(groups.places):
        if (name.group, name.topic) in altered:
            continue
        there = listed.get(PartitionName(name.topic, name.partition), np.zeros(0, np.int64))
        here = (place == code) & np.isin(offset, there)
        for at, ended in zip(offset[here].tolist(), acks.ended[rows][here].tolist(), strict=True):
            found[name][at] = min(ended, found[name].get(at, ended))
    return found


def altered_topics(history: History) -> frozenset[tuple[str, str]]:
    """The groups and topics for which an administrator asked to set or to delete start offsets."""
    return frozenset(
        (str(one.began.key), one.began.value["topic"])
        for f in (SETS, DELETES)
        for one in requests_of(history, f)
    )


def appended_before(history: History, stored: StoredLog, accepted: Accepted) -> Integers:
    """For each record of a log, a position in the history before which it was appended; shape (n,).

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        stored: the log.
        accepted: the answers to acceptances.
    """
    before = np.full(len(stored.log.records["offset"]), AT_THE_END)
    if lacks_records(history, stored) is not None:
        return before
    left = {name: dict(mine) for name, mine in accepted.items()}
    for batch in stored.batches():
        mine = left.get(batch.name, {})
        if batch.state == Delivery.ACKNOWLEDGED:
            answers = [mine.pop(offset) for offset in _within(mine, batch.first, batch.last)]
            before[batch.row] = min(before[batch.row], *answers, AT_THE_END)
    earliest: Integers = np.minimum.accumulate(before[::-1])[::-1]
    return earliest


def _within(offsets: Collection[int], first: int, last: int) -> list[int]:
    """The offsets of a batch that are among some others; a damaged log may have a batch of any length."""
    if last - first < len(offsets):
        return [offset for offset in range(first, last + 1) if offset in offsets]
    return [offset for offset in offsets if first <= offset <= last]


def lacks_records(history: History, stored: StoredLog) -> str | None:
    """Why the first record with a state, as the log has it now, may not be the first one; None if it is.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        stored: the log.
    """
    if not stored.log.whole:
        return f"{stored.partition} lacks records"
    return may_have_lost(history, SHARES_TOPIC, stored.partition.partition)


def unspent(history: History, groups: ShareGroups) -> Booleans:
    """Which acknowledgements were answered before the end of a last lock can have archived the record."""
    acks, all_, workload = groups.acknowledgements, groups.deliveries, recorded_setup(history).workload
    times_ns = times_of(history)
    since, ended = all_.since[acks.delivery], acks.ended
    locked = times_ns[ended] - times_ns[since] < workload.lock_ms * NS_PER_MS
    _, record = np.unique(all_.record, return_inverse=True)
    most = np.zeros(record.max(initial=NONE) + 1, np.int64)
    np.maximum.at(most, record, all_.count)
    sure: Booleans = most[record[acks.delivery]] + 1 < workload.delivery_limit
    sure |= locked & (since != NONE)
    return sure
