"""The times in which a share partition certainly had one leader.

A deposed leader that does not know of its successor yet may acquire records that the successor has acquired
or archived, because acquisitions are not persisted (KIP-932: the state Acquired is not persisted).  For the
same reason a new leader makes all acquired records available again, and forgets their last delivery.  So
rules about acquisitions apply only if no deposed leader may answer.  That is so in two cases:

* no fault and no change of the leader is near;
* all replicas reported the current leader epoch before, and it did not change.  Then faults do not matter:
  a broker that knows an epoch does not lead the partition in an earlier one again.
"""

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from checkers.columns.tables import NEVER, NONE, Booleans, Integers, PartitionName
from checkers.history.operations import History
from checkers.licences.disturbances import faults, leader_moves
from checkers.licences.facts import Facts
from checkers.share_groups.loading import times_of

SETTLED_NS = 10_000_000_000
"""How long after a fault or an election a deposed leader may still answer."""
KNOWN_NS = 1_000_000_000
"""How long after a broker reported a leader epoch it certainly does not act as an earlier leader.

Brokers report what they read from the metadata log, and then act on it.
"""
_Span = tuple[int, int]


class Leadership(NamedTuple):
    """A leader epoch that all replicas of a partition know.

    Attributes:
        leader: id of the leader; `NOBODY` if there is none.
        known_ns: time from which no replica acts as an earlier leader.
        ended_ns: time before which the epoch certainly did not end.
    """

    leader: int
    known_ns: int
    ended_ns: int


class Calm:
    """The times of a history at which leaders were undisputed.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
    """

    def __init__(self, history: History) -> None:
        self._facts = Facts(history)
        self._leaderships: dict[PartitionName, list[Leadership]] = {}
        self._times_ns = times_of(history)

    def between(self, partition: PartitionName, begin: Integers, end: Integers) -> Booleans:
        """Whether a partition's leader was undisputed all the time.

        Args:
            partition: a partition of a topic.
            begin: shape (n,), positions in the history.
            end: shape (n,), positions in the history.
        """
        begin_ns, end_ns = self._times_ns[begin], self._times_ns[end]
        calm = np.ones(len(begin), np.bool_)
        for from_ns, to_ns in (*self._faults, *self._moves(partition)):
            calm &= (end_ns < from_ns) | (to_ns < begin_ns - SETTLED_NS)
        for leadership in self.leaderships(partition):
            calm |= (leadership.known_ns <= begin_ns) & (end_ns < leadership.ended_ns)
        return calm

    def leaderships(self, partition: PartitionName) -> list[Leadership]:
        """The leader epochs of a partition that all its replicas reported; none without the metadata log."""
        if partition not in self._leaderships:
            self._leaderships[partition] = list(self._found(partition))
        return self._leaderships[partition]

    def _found(self, partition: PartitionName) -> Iterator[Leadership]:
        changes = self._facts.changes
        if not changes.is_complete(partition, NEVER):
            return
        states = changes.states[partition]
        firsts = [states[0], *(new for old, new in pairwise(states) if new.leader_epoch != old.leader_epoch)]
        replicas = {replica for state in states for replica in state.replicas}
        ended_ns = [*(changes.span(first).from_ns for first in firsts[1:]), NEVER]
        for first, until_ns in zip(firsts, ended_ns, strict=True):
            known_ns = self._known_ns(partition, first.leader_epoch, replicas)
            if known_ns is not None:
                yield Leadership(first.leader, max(known_ns, changes.span(first).to_ns), until_ns)

    def _known_ns(self, partition: PartitionName, epoch: int, replicas: set[int]) -> int | None:
        """When all replicas certainly acted on a leader epoch, or a later one; None if some reported none."""
        first_ns: dict[int, int] = {}
        for view in self._facts.views.get(partition, ()):
            if view.leader_epoch >= epoch:
                first_ns.setdefault(self._facts.ids.get(view.node, NONE), view.time_ns)
        if not replicas <= first_ns.keys():
            return None
        return max(first_ns[replica] for replica in replicas) + KNOWN_NS

    @cached_property
    def _faults(self) -> list[_Span]:
        return [(event.from_ns, event.to_ns) for event in faults(self._facts)]

    def _moves(self, partition: PartitionName) -> Iterator[_Span]:
        """Changes of the leader, by the metadata log or, without that, by the brokers' reports."""
        changes = self._facts.changes
        if not changes.is_complete(partition, NEVER):
            seen = (move for move in leader_moves(self._facts) if move.where == partition)
            yield from ((move.from_ns, move.to_ns) for move in seen)
            return
        for old, new in pairwise(changes.states[partition]):
            if new.leader_epoch != old.leader_epoch:
                span = changes.span(new)
                yield span.from_ns, span.to_ns
