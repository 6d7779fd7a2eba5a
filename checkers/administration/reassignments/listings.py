"""Compares the reassignments that were listed as ongoing with the metadata log.

A broker forwards the request to a controller, which answers from committed records.  A deposed controller may
report a state that has ended.  No controller reports a state that never existed, or does not exist yet.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec

from checkers.administration.reassignments.anomalies import UNCOMMITTED, WITHOUT_RECORD
from checkers.administration.reassignments.uncommitted import UncommittedRequests
from checkers.columns.tables import PartitionName
from checkers.evidence.administration import Reassignment
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

    @property
    def target(self) -> frozenset[int]:
        """The replicas that the partition is to have."""
        return self.replicas - self.removing

    @property
    def sets(self) -> str:
        """What it adds and removes."""
        return f"adding {sorted(self.adding)}, removing {sorted(self.removing)}"

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
        seen: for each reassignment, the observations that list it, in the order of the history.
        most: largest number that was listed at once.
        longest_ms: longest time during which some were listed without interruption.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """

    def __init__(self, history: History) -> None:
        self.seen: dict[ListedReassignment, list[Operation]] = {}
        self.most = 0
        longest_ns, since_ns = 0, None
        for operation in history.observed(REASSIGNMENTS):
            ongoing = msgspec.convert(operation.value, ReassignmentsSeen).ongoing
            self.most = max(self.most, len(ongoing))
            for topic, number, *sets in ongoing:
                listed = ListedReassignment(PartitionName(topic, number), *map(frozenset, sets))
                self.seen.setdefault(listed, []).append(operation)
            since_ns = (operation.time_ns if since_ns is None else since_ns) if ongoing else None
            longest_ns = max(longest_ns, 0 if since_ns is None else operation.time_ns - since_ns)
        self.longest_ms = longest_ns // NS_PER_MS


def find_without_record(
    history: History, changes: PartitionChanges, listings: Listings, asked: Sequence[Reassignment]
) -> Iterator[Anomaly]:
    """Listed reassignments that the metadata log did not have by then; of each kind the first of each.

    Removed topics are left out, because another topic may have the same name.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        changes: the partitions' states.
        listings: the listed reassignments.
        asked: all requests.

    Raises:
        msgspec.ValidationError, ValueError: an observation, or the set-up, is not as docs/histories.md says.
    """
    requests = UncommittedRequests(history, changes, asked)
    for listed, observations in listings.seen.items():
        found: dict[str, Anomaly] = {}
        for observation in observations:
            log = certain_at(history, observation.time_ns)
            from_ns = None if log is None else _begun_ns(listed, changes, log)
            if log is None or (from_ns is not None and from_ns <= observation.time_ns):
                continue
            request = requests.explaining(listed.partition, listed.target, observation)
            unfounded = Unfounded(listed, observation, log.op, from_ns)
            one = _without_record(unfounded, changes) if request is None else _uncommitted(unfounded, request)
            found.setdefault(one.id, one)
        yield from found.values()


class Unfounded(NamedTuple):
    """A listing that the metadata log does not have.

    Attributes:
        listed: what was listed.
        observation: the observation that lists it.
        log: index of the observation that reports the log.
        from_ns: when the log has it first, in nanoseconds; None if never.
    """

    listed: ListedReassignment
    observation: Operation
    log: int
    from_ns: int | None

    @property
    def when(self) -> str:
        """Whether the log has it later."""
        return "never had it" if self.from_ns is None else f"did not have it before {_s(self.from_ns)}"


def _without_record(found: Unfounded, changes: PartitionChanges) -> Anomaly:
    listed, observation = found.listed, found.observation
    return WITHOUT_RECORD.found(
        f"{observation.node} listed at {_s(observation.time_ns)} a reassignment of "
        f"{listed.partition} as ongoing ({listed.sets}); the metadata log {found.when}.",
        subject=str(listed.partition),
        time_ns=observation.time_ns,
        witness=(observation.index, found.log),
        explanation=map(str, changes.states.get(listed.partition, ())[-2:]),
    )


def _uncommitted(found: Unfounded, request: Reassignment) -> Anomaly:
    listed, observation = found.listed, found.observation
    return UNCOMMITTED.found(
        f"{observation.node} listed at {_s(observation.time_ns)} the target {sorted(listed.target)} of "
        f"{listed.partition} ({listed.sets}), which was requested at {_s(request.request.from_ns)}; the "
        f"metadata log {found.when}.",
        subject=str(listed.partition),
        time_ns=observation.time_ns,
        witness=(*request.request.operations, observation.index, found.log),
        explanation=("Another controller became the leader of the quorum after the request was sent.",),
    )


def _begun_ns(listed: ListedReassignment, changes: PartitionChanges, log: CertainTopics) -> int | None:
    """The earliest time when it may have begun; None if it never did."""
    states = changes.states.get(listed.partition)
    if states is None:
        return log.made_ns(listed.partition)
    return min((changes.span(state).from_ns for state in states if listed.fits(state)), default=None)


def _s(time_ns: int) -> str:
    return f"{time_ns / NS_PER_S:.3f} s"
