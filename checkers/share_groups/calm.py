"""The times in which a share partition had one leader, and no fault was in force.

A deposed leader that does not know of its successor yet may acquire records that the successor has acquired
or archived, because acquisitions are not persisted (KIP-932: the state Acquired is not persisted).  For the
same reason a new leader makes all acquired records available again, and forgets their last delivery.  So
rules about acquisitions apply only if no fault and no change of the leader is near.
"""

from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise

import numpy as np

from checkers.columns.tables import NEVER, Booleans, Integers, PartitionName
from checkers.history.operations import History
from checkers.licences.disturbances import faults, leader_moves
from checkers.licences.facts import Facts

SETTLED_NS = 10_000_000_000
"""How long after a fault or an election a deposed leader may still answer."""
_Span = tuple[int, int]


class Calm:
    """The times of a history at which leaders were undisputed.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
    """

    def __init__(self, history: History) -> None:
        self._facts = Facts(history)
        self._times_ns: Integers = np.fromiter((o.time_ns for o in history.operations), np.int64)

    def between(self, partition: PartitionName, begin: Integers, end: Integers) -> Booleans:
        """Whether a partition's leader was undisputed all the time.

        Args:
            partition: a partition of a topic.
            begin: shape (n,), positions in the history.
            end: shape (n,), positions in the history.
        """
        begin_ns, end_ns = self._times_ns[begin] - SETTLED_NS, self._times_ns[end]
        calm = np.ones(len(begin), np.bool_)
        for from_ns, to_ns in (*self._faults, *self._moves(partition)):
            calm &= (end_ns < from_ns) | (to_ns < begin_ns)
        return calm

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
