"""Answers of leaders and contents of quorum-state files, as intervals of time.

A view was true at some moment between `began_ns` and `time_ns`; so one view precedes another only if it was
complete before the other began.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from checkers.history.operations import History, Operation, once
from checkers.history.quorum import (
    QUORUM_STATE,
    UNKNOWN,
    LeaderSeen,
    QuorumStateSeen,
    ReplicaState,
    leaders_seen,
)

NONE = UNKNOWN
"""Kafka's number for no leader, no vote, no time and no high watermark."""


class LeaderClaim(msgspec.Struct, frozen=True):
    """A node's answer to DescribeQuorum as leader.

    Attributes:
        index: the observation's place in the history.
        node: name of the node that answered.
        began_ns: when it was asked, on the history's clock.
        time_ns: when the answer was there.
        leader_id: ``node.id`` of the leader that the answer names.
        epoch: the leader's epoch.
        high_watermark: its high watermark, -1 where it has none yet.
        wall_ms: the host's wall clock when the answer was there.
        voters: the voters, the leader among them unless it is leaving.
        observers: all others that fetched lately.
    """

    index: int
    node: str
    began_ns: int
    time_ns: int
    leader_id: int
    epoch: int
    high_watermark: int
    wall_ms: int
    voters: tuple[ReplicaState, ...]
    observers: tuple[ReplicaState, ...] = ()

    @property
    def leader_end(self) -> int:
        """End of the leader's log as it tells it, -1 where unknown."""
        return next((v.log_end_offset for v in self.voters if v.id == self.leader_id), NONE)


class StateFile(msgspec.Struct, frozen=True):
    """A reading of a node's quorum-state file; fields as in `LeaderClaim`.

    Attributes:
        index: the observation's place in the history.
        node: name of the node whose file it is.
        began_ns: when reading began.
        time_ns: when it was read.
        directory_id: identity of the disk; None where this version has none.
        leader_id: the leader of the epoch, -1 if the node knows none.
        epoch: the highest epoch that the node has seen.
        voted_id: whom it voted for in that epoch, -1 if nobody.
        cluster_id: the cluster that the disk belongs to; None where that was not read.
    """

    index: int
    node: str
    began_ns: int
    time_ns: int
    directory_id: str | None
    leader_id: int
    epoch: int
    voted_id: int
    cluster_id: str | None = None


class Views(msgspec.Struct, frozen=True):
    """All views of one history, in its order."""

    claims: tuple[LeaderClaim, ...]
    files: tuple[StateFile, ...]

    @property
    def sightings(self) -> tuple[LeaderClaim | StateFile, ...]:
        """Views that name a leader."""
        return self.claims + tuple(file for file in self.files if file.leader_id > NONE)


@once
def views_of(history: History) -> Views:
    """Every answer given as leader and every quorum-state file that had an epoch.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    claims = tuple(_claim(*told) for told in leaders_seen(history))
    files = (_file(operation) for operation in history.observed(QUORUM_STATE))
    return Views(claims, tuple(file for file in files if file.epoch > NONE))


def _claim(operation: Operation, answer: LeaderSeen) -> LeaderClaim:
    return LeaderClaim(
        index=operation.index,
        node=operation.node or "",
        began_ns=answer.began_ns,
        time_ns=operation.time_ns,
        leader_id=answer.leader_id,
        epoch=answer.leader_epoch,
        high_watermark=answer.high_watermark,
        wall_ms=answer.wall_ms,
        voters=answer.voters,
        observers=answer.observers,
    )


def _file(operation: Operation) -> StateFile:
    file = msgspec.convert(operation.value, QuorumStateSeen)
    return StateFile(
        index=operation.index,
        node=operation.node or "",
        began_ns=file.began_ns,
        time_ns=operation.time_ns,
        directory_id=file.directory_id,
        leader_id=_number(file.leader_id),
        epoch=_number(file.leader_epoch),
        voted_id=_number(file.voted_id),
        cluster_id=file.cluster_id,
    )


def _number(value: int | None) -> int:
    return NONE if value is None else value


class _Interval(Protocol):
    @property
    def index(self) -> int: ...
    @property
    def began_ns(self) -> int: ...
    @property
    def time_ns(self) -> int: ...


E = TypeVar("E", bound=_Interval)
L = TypeVar("L", bound=_Interval)


def best_before(
    earlier: Sequence[E], later: Sequence[L], score: Callable[[E], Any]
) -> Iterator[tuple[L, E | None]]:
    """Each of the later views with the best of the earlier ones that were complete before it began.

    Yields pairs in order of `began_ns`; None where nothing was complete.  Of equals the first complete wins.
    """
    complete = sorted(earlier, key=lambda view: (view.time_ns, view.index))
    best: E | None = None
    at = 0
    for view in sorted(later, key=lambda view: (view.began_ns, view.index)):
        while at < len(complete) and complete[at].time_ns < view.began_ns:
            if best is None or score(complete[at]) > score(best):
                best = complete[at]
            at += 1
        yield view, best
