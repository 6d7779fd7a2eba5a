"""Evaluates a condition of a script, and reports the state instead; pure."""

from typing import NamedTuple

from harness.kafka.snapshot import ClusterSnapshot
from harness.vocabulary.administration import Member
from harness.vocabulary.moves import (
    Acknowledged,
    Condition,
    InSync,
    IsObserver,
    LeaderIs,
    LeadsQuorum,
    Moves,
    NothingMoves,
    ReplicasAre,
    VotersAre,
    VotersCaughtUp,
)


class ConditionState(NamedTuple):
    """Whether a condition holds, and the state that decides this."""

    holds: bool
    saw: object


def state_of_condition(condition: Condition, snapshot: ClusterSnapshot, acked: int) -> ConditionState:
    """Evaluate a condition on a snapshot of the cluster.

    Args:
        condition: the condition.
        snapshot: the current snapshot.
        acked: number of records acknowledged since the wait began.

    Raises:
        LookupError: the condition names a node that the topology does not have.
    """
    match condition:
        case Acknowledged(count):
            return ConditionState(acked >= count, acked)
        case NothingMoves():
            moving = snapshot.moving
            return ConditionState(moving == [], None if moving is None else len(moving))
        case Moves(topic, partition):
            moving = snapshot.moving
            return ConditionState(moving is not None and (topic, partition) in moving, moving)
        case LeaderIs() | InSync() | ReplicasAre():
            return _of_partition(condition, snapshot)
        case VotersAre() | VotersCaughtUp() | IsObserver() | LeadsQuorum():
            return _of_quorum(condition, snapshot)


def _of_partition(condition: LeaderIs | InSync | ReplicasAre, snapshot: ClusterSnapshot) -> ConditionState:
    state = snapshot.partition((condition.topic, condition.partition))
    if state is None:
        return ConditionState(holds=False, saw=None)
    match condition:
        case LeaderIs(member=None):
            return ConditionState(state.leader < 0, state.leader)
        case LeaderIs(member=Member() as member):
            return ConditionState(state.leader == snapshot.node(member).id, state.leader)
        case InSync(members=members):
            return ConditionState(sorted(state.isr) == sorted(_ids(members, snapshot)), state.isr)
        case ReplicasAre(members=members):
            return ConditionState(list(state.replicas) == _ids(members, snapshot), state.replicas)
    raise AssertionError(condition)


def _of_quorum(
    condition: VotersAre | VotersCaughtUp | IsObserver | LeadsQuorum, snapshot: ClusterSnapshot
) -> ConditionState:
    quorum = snapshot.quorum
    if quorum is None:
        return ConditionState(holds=False, saw=None)
    match condition:
        case VotersAre(members):
            ids = sorted(voter.id for voter in quorum.voters)
            return ConditionState(ids == sorted(_ids(members, snapshot)), ids)
        case VotersCaughtUp():
            ends = {voter.id: voter.log_end_offset for voter in quorum.voters}
            committed = quorum.high_watermark
            return ConditionState(
                0 <= committed <= min(ends.values()), {"committed": committed, "ends": ends}
            )
        case IsObserver(member):
            ids = sorted(replica.id for replica in quorum.observers)
            return ConditionState(snapshot.node(member).id in ids, ids)
        case LeadsQuorum(member):
            wanted = quorum.leader_id if member is None else snapshot.node(member).id
            return ConditionState(quorum.leader_id == wanted and quorum.high_watermark >= 0, quorum.leader_id)


def _ids(members: tuple[Member, ...], snapshot: ClusterSnapshot) -> list[int]:
    return [snapshot.node(member).id for member in members]
