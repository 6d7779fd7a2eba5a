"""Compares the reassignments that were listed as ongoing with the metadata log.

A broker forwards the request to a controller, which answers from committed records.  A deposed controller may
report a state that has ended.  No controller reports a state that never existed, or does not exist yet.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from checkers.administration.reassignments.anomalies import WITHOUT_RECORD
from checkers.columns.tables import PartitionName
from checkers.evidence.partition_changes import PartitionChanges, PartitionState
from checkers.history.observed import REASSIGNMENTS, ReassignmentsSeen
from checkers.history.operations import History, Operation
from checkers.history.units import NS_PER_MS, NS_PER_S
from checkers.kraft.metadata.certain import CertainTopics, certain_at
from checkers.verdict.verdict import Anomaly


class ListedReassignment(NamedTuple):
    """A reassignment as it was listed.

    Attributes:
        partition: the partition that is reassigned.
        replicas: ids of all replicas, old and new.
        adding: ids that it adds.
        removing: ids that it removes.
    """

    partition: PartitionName
    replicas: frozenset[int]
    adding: frozenset[int]
    removing: frozenset[int]

    def fits(self, state: PartitionState) -> bool:
        """Whether it equals the reassignment in a state of the partition."""
        return (self.replicas, self.adding, self.removing) == (
            frozenset(state.replicas),
            frozenset(state.adding),
            frozenset(state.removing),
        )


class Listings:
    """All listed reassignments.

    Args:
        history: as `checkers.history.reading.read_history` returns it.

    Attributes:
        first: for each reassignment, the first observation that lists it.
        most: largest number that was listed at once.
        longest_ms: longest time during which some were listed without interruption.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """

    def __init__(self, history: History) -> None:
        self.first: dict[ListedReassignment, Operation] = {}
        self.most = 0
        longest_ns, since_ns = 0, None
        for operation in history.observed(REASSIGNMENTS):
            ongoing = msgspec.convert(operation.value, ReassignmentsSeen).ongoing
            self.most = max(self.most, len(ongoing))
            for topic, number, *sets in ongoing:
                self.first.setdefault(
                    ListedReassignment(PartitionName(topic, number), *map(frozenset, sets)), operation
                )
            since_ns = (operation.time_ns if since_ns is None else since_ns) if ongoing else None
            longest_ns = max(longest_ns, 0 if since_ns is None else operation.time_ns - since_ns)
        self.longest_ms = longest_ns // NS_PER_MS


def find_without_record(history: History, changes: PartitionChanges, listings: Listings) -> Iterator[Anomaly]:
    """Listed reassignments that the metadata log did not have by then.

    Removed topics are left out, because another topic may have the same name.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        changes: the partitions' states.
        listings: the listed reassignments.

    Raises:
        msgspec.ValidationError, ValueError: an observation, or the set-up, is not as docs/histories.md says.
    """
    for listed, observation in listings.first.items():
        log = certain_at(history, observation.time_ns)
        if log is None:
            continue
        from_ns = _begun_ns(listed, changes, log)
        if from_ns is None or from_ns > observation.time_ns:
            when = "never had it" if from_ns is None else f"did not have it before {_s(from_ns)}"
            sets = f"adding {sorted(listed.adding)}, removing {sorted(listed.removing)}"
            yield WITHOUT_RECORD.found(
                f"{observation.node} listed at {_s(observation.time_ns)} a reassignment of "
                f"{listed.partition} as ongoing ({sets}); the metadata log {when}.",
                subject=str(listed.partition),
                time_ns=observation.time_ns,
                witness=(observation.index, log.op),
                explanation=map(str, changes.states.get(listed.partition, ())[-2:]),
            )


def _begun_ns(listed: ListedReassignment, changes: PartitionChanges, log: CertainTopics) -> int | None:
    """The earliest time when it may have begun; None if it never did."""
    states = changes.states.get(listed.partition)
    if states is None:
        return log.made_ns(listed.partition)
    return min((changes.span(state).from_ns for state in states if listed.fits(state)), default=None)


def _s(time_ns: int) -> str:
    return f"{time_ns / NS_PER_S:.3f} s"
