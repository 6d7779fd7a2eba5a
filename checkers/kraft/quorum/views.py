"""Answers of leaders and contents of quorum-state files, as intervals of time.

A view was true at some moment between `began_ns` and `time_ns`; so one view precedes another only if it was
complete before the other began.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

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
    """A node's answer to DescribeQuorum as leader, and where it is in the history.

    Attributes:
        index: the observation's place in the history.
        node: name of the node that answered.
        time_ns: when the answer was there, on the history's clock.
    """

    index: int
    node: str
    time_ns: int

    @property
    def epoch(self) -> int:
        """The leader's epoch, by the name that it has in a `StateFile`."""
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
