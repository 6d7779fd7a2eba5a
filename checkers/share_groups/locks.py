"""Acquisition locks: a leader keeps a record for its member until the lock ends.

A leader refuses an acknowledgement with INVALID_RECORD_STATE if the record is not acquired by the member.  If
the lock can't have ended, there are these causes for it, and each of them excludes the finding:

* another broker leads the partition, or a deposed leader delivered the record (`calm`);
* a change of the start offset may be carried out, after which the leader reads the state again (`lives`);
* the member's share session ended with its connection, and with it all of its locks
  (``SharePartitionManager.releaseSession``).  A connection that delivered records ends before the next
  request only if a fault affects the leader.

The lock begins after the poll before, so its end is known without the broker's clock: it can't end before
that time and the duration of the lock.  A confirmed renewal cancels the lock and begins another one after the
renewal was sent (KIP-1222; ``SharePartition.acknowledgePerOffsetBatchRecords``).  A request is refused for a
partition as a whole, so the earliest lock of the records that it acknowledges there counts.
"""

from collections.abc import Iterator

import numpy as np

from checkers.columns.tables import NONE, Booleans, Integers, PartitionName
from checkers.evidence.faults import FaultWindow, fault_windows
from checkers.history.operations import History
from checkers.history.setup import recorded_setup
from checkers.history.units import NS_PER_MS
from checkers.share_groups import anomalies as kinds
from checkers.share_groups.calm import Calm
from checkers.share_groups.deliveries import Found
from checkers.share_groups.earlier_rows import codes_of, highest_before
from checkers.share_groups.loading import ShareGroups, times_of


def locks_lost(history: History, groups: ShareGroups, calm: Calm) -> Found:
    """Acknowledgements that were refused although the locks of their records can't have ended.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        groups: the records that members received and acknowledged.
        calm: the times at which leaders were undisputed.
    """
    all_, refused, renewals = groups.deliveries, groups.refused, groups.renewals
    since, by, ended = *_locked_since(groups), refused.ended
    times_ns = times_of(history)
    lock_ns = recorded_setup(history).workload.lock_ms * NS_PER_MS
    certain = (since != NONE) & all_.settled[refused.delivery]
    rows = np.flatnonzero(certain & (times_ns[ended] - times_ns[since] < lock_ns))
    kept = np.zeros(len(rows), np.bool_)
    places = all_.place[refused.delivery[rows]]
    for place in np.unique(places).tolist():
        here, name = places == place, groups.places[place]
        spans = times_ns[since[rows[here]]], times_ns[ended[rows[here]]]
        kept[here] = undisturbed(history, calm, PartitionName(name.topic, name.partition), *spans)
    rows = rows[kept]

    def text(row: int) -> str:
        at = rows[row]
        held_ms = (times_ns[ended[at]] - times_ns[since[at]]) / NS_PER_MS
        begun = "had begun" if by[at] == NONE else "had been renewed"
        return (
            f"was delivered by operation {all_.answered[refused.delivery[at]]}, and operation {ended[at]}, "
            f"its acknowledgement, was refused because the member did not hold it, although its lock of "
            f"{lock_ns // NS_PER_MS} ms {begun} at most {held_ms:.0f} ms before"
        )

    delivery, renewed = refused.delivery[rows], by[rows]
    witness = (
        all_.asked[delivery],
        all_.answered[delivery],
        np.where(renewed == NONE, all_.asked[delivery], np.append(renewals.began, NONE)[renewed]),
        np.where(renewed == NONE, all_.answered[delivery], np.append(renewals.ended, NONE)[renewed]),
        refused.began[rows],
        refused.ended[rows],
    )
    return Found(kinds.LOCK_LOST, delivery, all_.place[delivery], witness, text)


def _locked_since(groups: ShareGroups) -> tuple[Integers, Integers]:
    """When the locks of refused acknowledgements began, and the renewals by which they did.

    Returns:
        Positions after which the locks began, `NONE` if unknown, and rows of the last renewals that were
        confirmed before, `NONE` if there are none; both of shape (refused,).
    """
    all_, refused, renewals = groups.deliveries, groups.refused, groups.renewals
    by = highest_before(renewals.delivery, renewals.ended, renewals.began, refused.delivery, refused.began)
    acquired = all_.since[refused.delivery]
    since = np.where(by == NONE, acquired, np.maximum(acquired, np.append(renewals.began, NONE)[by]))
    request = codes_of(all_.place[refused.delivery], refused.ended)
    first = np.full(request.max(initial=NONE) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, request, since)
    return first[request], by


def undisturbed(
    history: History, calm: Calm, partition: PartitionName, begin_ns: Integers, end_ns: Integers
) -> Booleans:
    """Whether one leader that all replicas know led a partition, and no fault affected it."""
    names = {node.id: node.name for node in recorded_setup(history).nodes}
    found = np.zeros(len(begin_ns), np.bool_)
    for leadership in calm.leaderships(partition):
        within = (leadership.known_ns <= begin_ns) & (end_ns < leadership.ended_ns)
        for window in _affecting(history, names.get(leadership.leader)):
            within &= (end_ns < window.invoked_ns) | (window.end_ns < begin_ns)
        found |= within
    return found


def _affecting(history: History, node: str | None) -> Iterator[FaultWindow]:
    """The faults that may affect a node: it is a target or an end of a link, or targets are not known."""
    for window in fault_windows(history):
        nodes = {*window.targets, *(end for link in window.cut for end in link)}
        if not window.targets or node is None or node in nodes:
            yield window
