"""Tells a listing of an uncommitted request from other listings that the metadata log does not have.

A controller lists the partitions that move as of its last committed record, but what they move to as of its
last record (docs/findings.md, ``uncommitted-listing``).  If it has lost its quorum, the difference lasts
until it resigns.  A listing is explained by that only if all of this holds:

1. The listed target is that of a request that was sent before the listing and not answered before it.
2. A later epoch of the quorum was seen after the request was sent.
3. In that epoch's past, the last committed record of the partition left it in a reassignment.
4. When the listing was requested, the former leader may still have been a leader: no later than the time
   within which a leader without a quorum resigns.
"""

from collections.abc import Sequence

from checkers.columns.tables import PartitionName
from checkers.evidence.administration import Reassignment
from checkers.evidence.partition_changes import PartitionChanges
from checkers.history.observed import began_ns
from checkers.history.operations import History, Operation
from checkers.history.quorum import leaders_seen
from checkers.history.setup import setup_of
from checkers.history.units import NS_PER_MS
from checkers.kraft.quorum.zombie import span_bound_ms


class UncommittedRequests:
    """The requests that a controller without a quorum may have had in its log.

    Args:
        history: as `checkers.history.reading.read_history` returns it.
        changes: the partitions' states.
        asked: all requests.

    Raises:
        msgspec.ValidationError: an observation, or the set-up, is not as docs/histories.md says.
    """

    def __init__(self, history: History, changes: PartitionChanges, asked: Sequence[Reassignment]) -> None:
        self._changes = changes
        self._asked = [each for each in asked if each.target is not None and not each.refused]
        self._begun_ns: dict[int, int] = {}
        for operation, seen in leaders_seen(history):
            self._begun_ns.setdefault(seen.leader_epoch, operation.time_ns)
        setup = setup_of(history)
        self._bound_ns = (
            0
            if setup is None
            else span_bound_ms(setup.controller_fetch_timeout_ms, setup.observe_interval_ms) * NS_PER_MS
        )

    def explaining(
        self, partition: PartitionName, target: frozenset[int], listing: Operation
    ) -> Reassignment | None:
        """The request whose target was listed before it was committed; None if none explains the listing."""
        asked_ns = began_ns(listing)
        for each in self._asked:
            fits = each.partition == partition and frozenset(each.target or ()) == target
            pending = each.request.from_ns < listing.time_ns and asked_ns < each.request.to_ns
            if fits and pending and self._deposed(each, asked_ns):
                return each
        return None

    def _deposed(self, request: Reassignment, asked_ns: int) -> bool:
        """Whether a controller that got the request may have listed it without a quorum."""
        return any(
            request.request.from_ns < begun_ns
            and asked_ns <= begun_ns + self._bound_ns
            and self._moved_before(epoch, request.partition)
            for epoch, begun_ns in self._begun_ns.items()
        )

    def _moved_before(self, epoch: int, partition: PartitionName) -> bool:
        """Whether a reassignment of the partition was under way when an epoch of the quorum began."""
        states = [s for s in self._changes.states.get(partition, ()) if s.epoch < epoch]
        return bool(states) and states[-1].moving
