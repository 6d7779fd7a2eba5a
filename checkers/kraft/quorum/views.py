"""Answers of leaders and contents of quorum-state files, as intervals of time.

A view was true at some time between `began_ns` and `time_ns`.  So one view precedes another only if it was
complete before the other began.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

import msgspec
from msgspec.structs import asdict

from checkers.history.operations import History, Operation, once
from checkers.history.quorum import (
    QUORUM_STATE,
    UNKNOWN,
    LeaderSeen,
    QuorumStateSeen,
    leaders_seen,
)

NONE = UNKNOWN
"""Kafka's number for no leader, no vote, no time and no high watermark."""


class LeaderClaim(LeaderSeen, frozen=True, kw_only=True):
    """A node's answer to DescribeQuorum as leader, and its position in the history.

    Attributes:
        index: the observation's place in the history.
        node: name of the node that answered.
        time_ns: when the answer arrived, on the history's clock.
    """

    index: int
    node: str
    time_ns: int

    @property
    def epoch(self) -> int:
        """The leader's epoch, under the name that `StateFile` uses."""
        return self.leader_epoch


class StateFile(msgspec.Struct, frozen=True):
    """A reading of a node's quorum-state file; fields as in `LeaderClaim`.

    Attributes:
        index: the observation's place in the history.
        node: name of the node whose file it is.
        began_ns: when reading began.
        time_ns: when it was read.
        directory_id: identity of the disk; None if this version has none.
        leader_id: the leader of the epoch, -1 if the node knows none.
        epoch: the highest epoch that the node has seen.
        voted_id: id of the node that it voted for in that epoch, -1 if none.
        cluster_id: the cluster that the disk belongs to; None if it was not read.
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
    """All views of one history, in order."""

    claims: tuple[LeaderClaim, ...]
    files: tuple[StateFile, ...]

    @property
    def sightings(self) -> tuple[LeaderClaim | StateFile, ...]:
        """Views that name a leader."""
        return self.claims + tuple(file for file in self.files if file.leader_id > NONE)


@once
def views_of(history: History) -> Views:
    """Every answer of a node as leader, and every quorum-state file with an epoch.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    claims = tuple(_claim(*answer) for answer in leaders_seen(history))
    files = (_file(operation) for operation in history.observed(QUORUM_STATE))
    return Views(claims, tuple(file for file in files if file.epoch > NONE))


def _claim(operation: Operation, answer: LeaderSeen) -> LeaderClaim:
    return LeaderClaim(
        **asdict(answer), index=operation.index, node=operation.node or "", time_ns=operation.time_ns
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
    earlier: Sequence[E], later: Sequence[L], score: Callable[[E], int]
) -> Iterator[tuple[L, E | None]]:
    """Each later view with the best earlier view that was complete before it began.

    Yields pairs in order of `began_ns`.  The earlier view is None if none was complete.  Of equal views the
    first that was complete counts.
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
