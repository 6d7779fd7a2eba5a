"""The types of reports on the metadata quorum: answers to DescribeQuorum, and quorum-state files.

The fields are those of docs/histories.md, as in `checkers.history.observed`.
"""

from collections.abc import Iterator
from typing import Literal

import msgspec

from checkers.history.observed import Observation
from checkers.history.operations import History, Operation

QUORUM = "quorum"
"""Key of observations of controllers' answers."""
QUORUM_STATE = "quorum-state"
"""Key of observations of quorum-state files."""
UNKNOWN = -1
"""Kafka's number for no leader, no vote, no time and no high watermark."""


class ReplicaState(msgspec.Struct, frozen=True, array_like=True):
    """The quorum leader's report about one replica of the metadata log; -1 for values that it does not know.

    Attributes:
        id: id of the node.
        directory_id: directory id of its disk; None before KIP-853.
        log_end_offset: offset up to which it has fetched; for the leader, the end of its log.
        last_fetch_ms: when it fetched last, milliseconds of the leader's wall clock.
        last_caught_up_ms: when it last had all records of the leader, milliseconds of the leader's wall
            clock.
    """

    id: int
    directory_id: str | None
    log_end_offset: int
    last_fetch_ms: int
    last_caught_up_ms: int


class QuorumSeen(Observation, frozen=True):
    """The result of a request to a controller; complete if the node did not answer as the leader."""

    answer: Literal["leader", "not-leader", "error"]


class LeaderSeen(QuorumSeen, frozen=True):
    """A controller's answer as the leader.

    Attributes:
        leader_id: id of the leader that it names.
        leader_epoch: its epoch.
        high_watermark: the high watermark; -1 until a record is committed in this epoch.
        wall_ms: the host's wall clock when the answer arrived, milliseconds.
        voters: the voters that it knows.
        observers: other nodes that fetched recently.
    """

    leader_id: int
    leader_epoch: int
    high_watermark: int
    wall_ms: int
    voters: tuple[ReplicaState, ...]
    observers: tuple[ReplicaState, ...] = ()

    @property
    def end_offset(self) -> int:
        """The end of the leader's log according to its report; -1 if it is not reported."""
        return next((voter.log_end_offset for voter in self.voters if voter.id == self.leader_id), UNKNOWN)


class QuorumStateSeen(Observation, frozen=True):
    """Contents of a node's ``quorum-state`` and ``meta.properties``; None and -1 if they lack a value.

    Attributes:
        directory_id: identity of the disk.
        cluster_id: the cluster that the disk belongs to.
        leader_id: the leader of the epoch.
        leader_epoch: the highest epoch that the node has seen.
        voted_id: id of the node that it voted for in that epoch.
        voted_directory_id: the disk of that node.
    """

    directory_id: str | None = None
    cluster_id: str | None = None
    leader_id: int | None = None
    leader_epoch: int | None = None
    voted_id: int | None = None
    voted_directory_id: str | None = None


def quorum_seen(value: object) -> QuorumSeen | LeaderSeen:
    """The value of an observation of the quorum.

    Raises:
        msgspec.ValidationError: it is not as docs/histories.md says.
    """
    seen = msgspec.convert(value, QuorumSeen)
    return msgspec.convert(value, LeaderSeen) if seen.answer == "leader" else seen


def leaders_seen(history: History) -> Iterator[tuple[Operation, LeaderSeen]]:
    """All answers as the leader, in the order of the history, with their operations.

    Raises:
        msgspec.ValidationError: an observation is not as docs/histories.md says.
    """
    for operation in history.observed(QUORUM):
        seen = quorum_seen(operation.value)
        if isinstance(seen, LeaderSeen):
            yield operation, seen
