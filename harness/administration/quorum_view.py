"""The quorum as its leader reports it, with the facts for adding or removing a voter (KIP-595, KIP-853)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

import msgspec

from checkers.history.quorum import ReplicaState
from harness.administration.quorum_leader import Address, QuorumAnswer
from harness.administration.voters import VoterEndpoint

CAUGHT_UP_WITHIN_MS = 3_600_000
"""The leader accepts a new voter that has fetched within this time (LeaderState.isReplicaCaughtUp)."""


class Status(StrEnum):
    """The role of a replica of the metadata log."""

    LEADER = "leader"
    FOLLOWER = "follower"
    OBSERVER = "observer"


class QuorumReplica(msgspec.Struct, frozen=True):
    """One replica of the metadata log; None for values that the leader does not report.

    Attributes:
        id: ``node.id``.
        directory_id: id of its metadata log's directory.
        status: leader, follower (a voter) or observer.
        endpoints: addresses at which the quorum reaches it.
        log_end_offset: offset after its last record.
        lag: records behind the leader.
        last_fetch_ago_ms: milliseconds since its last fetch, by the leader's clock.
        last_caught_up_ago_ms: milliseconds since it had all records of the leader, by the leader's clock.
        could_vote: for an observer, whether adding it can succeed; None for voters, and if it is unknown
            whether it is a controller.
        because: the reason for `could_vote`, for an observer.
    """

    id: int
    directory_id: str | None
    status: Status
    endpoints: tuple[VoterEndpoint, ...]
    log_end_offset: int | None
    lag: int | None
    last_fetch_ago_ms: int | None
    last_caught_up_ago_ms: int | None
    could_vote: bool | None = None
    because: str = ""


class QuorumView(msgspec.Struct, frozen=True):
    """The quorum.

    Attributes:
        cluster_id: None if not reported.
        kraft_version: 1 if voters can be added and removed; None if not reported.
        leader_id: id of the leader.
        leader_epoch: the leader's epoch.
        high_watermark: the high watermark; None until something is committed in this epoch.
        replicas: leader, other voters, observers, each by id.
    """

    cluster_id: str | None
    kraft_version: int | None
    leader_id: int
    leader_epoch: int
    high_watermark: int | None
    replicas: tuple[QuorumReplica, ...]

    @property
    def voters(self) -> tuple[QuorumReplica, ...]:
        """Leader and followers."""
        return tuple(replica for replica in self.replicas if replica.status is not Status.OBSERVER)

    @property
    def observers(self) -> tuple[QuorumReplica, ...]:
        """Nodes that follow the quorum and have no vote."""
        return tuple(replica for replica in self.replicas if replica.status is Status.OBSERVER)

    @property
    def majority(self) -> int:
        """The number of voters that must have a record before it is committed."""
        return len(self.voters) // 2 + 1

    def voter(self, node_id: int) -> QuorumReplica | None:
        """The voter with that id."""
        return next((voter for voter in self.voters if voter.id == node_id), None)


def view_of(answer: QuorumAnswer, controllers: Mapping[int, Address], now_ms: int) -> QuorumView:
    """The quorum as the leader reported it, with derived values.

    Args:
        answer: the leader's answer.
        controllers: by id, the addresses of further known controllers that the leader did not report.
        now_ms: wall clock, for leaders that do not report theirs.
    """
    controllers = {**(answer.controllers or {}), **controllers}
    leader = next((voter for voter in answer.voters if voter.id == answer.leader_id), None)
    end = leader.log_end_offset if leader else -1
    if leader and leader.last_caught_up_ms > 0:  # for itself the leader reports its current time
        now_ms = leader.last_caught_up_ms
    known = _KnownQuorum(answer, controllers, end, now_ms)
    voters = sorted(answer.voters, key=lambda voter: (voter.id != answer.leader_id, voter.id))
    return QuorumView(
        cluster_id=answer.cluster_id,
        kraft_version=_kraft_version(answer),
        leader_id=answer.leader_id,
        leader_epoch=answer.leader_epoch,
        high_watermark=_known(answer.high_watermark),
        replicas=(
            *(
                _replica(each, Status.LEADER if each.id == answer.leader_id else Status.FOLLOWER, known)
                for each in voters
            ),
            *(
                _replica(each, Status.OBSERVER, known)
                for each in sorted(answer.observers, key=lambda each: each.id)
            ),
        ),
    )


class _KnownQuorum(NamedTuple):
    """What a replica is compared with.

    Attributes:
        answer: the leader's answer.
        controllers: addresses of all known controllers, by id.
        log_end_offset: the leader's; -1 if it is unknown.
        now_ms: the leader's time.
    """

    answer: QuorumAnswer
    controllers: Mapping[int, Address]
    log_end_offset: int
    now_ms: int


def _replica(replica: ReplicaState, status: Status, known: _KnownQuorum) -> QuorumReplica:
    end = min(known.log_end_offset, replica.log_end_offset)
    could_vote, because = (None, "")
    if status is Status.OBSERVER:
        could_vote, because = _could_vote(replica, known)
    return QuorumReplica(
        id=replica.id,
        directory_id=replica.directory_id,
        status=status,
        endpoints=_endpoints(replica, known),
        log_end_offset=_known(replica.log_end_offset),
        lag=None if end < 0 else max(0, known.log_end_offset - replica.log_end_offset),
        last_fetch_ago_ms=None if status is Status.LEADER else _ago(replica.last_fetch_ms, known.now_ms),
        last_caught_up_ago_ms=_ago(replica.last_caught_up_ms, known.now_ms),
        could_vote=could_vote,
        because=because,
    )


def _endpoints(replica: ReplicaState, known: _KnownQuorum) -> tuple[VoterEndpoint, ...]:
    """The endpoints that the leader reports; without any, the known address with a listener's usual name."""
    reported = known.answer.endpoints
    if reported.get(replica.id) or replica.id not in known.controllers:
        return reported.get(replica.id) or ()
    listener = next((each[0][0] for each in reported.values() if each), "CONTROLLER")
    return ((listener, *known.controllers[replica.id]),)


def _could_vote(replica: ReplicaState, known: _KnownQuorum) -> tuple[bool | None, str]:
    """Whether AddRaftVoter can succeed for an observer, by the leader's own conditions, and the reason."""
    answer = known.answer
    is_controller = replica.id in known.controllers
    refusals = (
        (_kraft_version(answer) == 0, "kraft.version is 0: voters are configured"),
        (
            any(voter.id == replica.id for voter in answer.voters),
            "a voter has this id with another directory: remove that one first",
        ),
        (replica.directory_id is None, "it reports no directory id"),
        (replica.last_caught_up_ms <= 0, "it has never caught up"),
        (replica.last_fetch_ms <= known.now_ms - CAUGHT_UP_WITHIN_MS, "it has not fetched for an hour"),
        (
            answer.controllers is not None and not is_controller,
            "it is not a controller: as a voter it would exit (KAFKA-19021)",
        ),
    )
    refusal = next((reason for refused, reason in refusals if refused), None)
    if refusal is not None:
        return False, refusal
    if is_controller:
        return True, "a controller that has caught up"
    return None, "it is unknown whether it is a controller: ask a controller"


def _kraft_version(answer: QuorumAnswer) -> int | None:
    """Nodes don't report features of level 0; at this level voters are configured, without directory ids."""
    is_static = all(voter.directory_id is None for voter in answer.voters)
    return 0 if answer.kraft_version is None and is_static else answer.kraft_version


def _known(offset: int) -> int | None:
    return None if offset < 0 else offset


def _ago(then_ms: int, now_ms: int) -> int | None:
    """Milliseconds since a time; never negative, even if clocks disagree."""
    return None if then_ms <= 0 else max(0, now_ms - then_ms)
