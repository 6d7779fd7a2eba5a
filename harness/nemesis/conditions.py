"""Whether a condition of a script holds, and what was seen instead; pure."""

from typing import Any, NamedTuple

from harness.nemesis.situation import Situation
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


class Seen(NamedTuple):
    """Whether a condition holds, and what it was judged by."""

    holds: bool
    saw: Any


def judged(condition: Condition, situation: Situation, acked: int) -> Seen:
    """Judge a condition by what is known now.

    Args:
        condition: what is waited for.
        situation: the cluster now.
        acked: records acknowledged since the waiting began.

    Raises:
        LookupError: the condition names a node that the topology does not have.
    """
    match condition:
        case Acknowledged(count):
            return Seen(acked >= count, acked)
        case NothingMoves():
            moving = situation.ongoing
            return Seen(moving == (), None if moving is None else len(moving))
        case Moves(topic, partition):
            names = [(one.topic, one.partition) for one in situation.ongoing or ()]
            return Seen((topic, partition) in names, None if situation.ongoing is None else names)
        case LeaderIs() | InSync() | ReplicasAre():
            return _of_partition(condition, situation)
        case VotersAre() | VotersCaughtUp() | IsObserver() | LeadsQuorum():
            return _of_quorum(condition, situation)


def _of_partition(condition: LeaderIs | InSync | ReplicasAre, situation: Situation) -> Seen:
    state = situation.partitions.get((condition.topic, condition.partition))
    if state is None:
        return Seen(holds=False, saw=None)
    match condition:
        case LeaderIs(member=None):
            return Seen(state.leader < 0, state.leader)
        case LeaderIs(member=Member() as member):
            return Seen(state.leader == situation.node(member).id, state.leader)
        case InSync(members=members):
            return Seen(sorted(state.isr) == sorted(_ids(members, situation)), state.isr)
        case ReplicasAre(members=members):
            return Seen(list(state.replicas) == _ids(members, situation), state.replicas)
    raise AssertionError(condition)


def _of_quorum(
    condition: VotersAre | VotersCaughtUp | IsObserver | LeadsQuorum, situation: Situation
) -> Seen:
    quorum = situation.quorum
    if quorum is None:
        return Seen(holds=False, saw=None)
    match condition:
        case VotersAre(members):
            ids = sorted(voter.id for voter in quorum.voters)
            return Seen(ids == sorted(_ids(members, situation)), ids)
        case VotersCaughtUp():
            ends = {voter.id: voter.log_end_offset for voter in quorum.voters}
            committed = quorum.high_watermark
            return Seen(0 <= committed <= min(ends.values()), {"committed": committed, "ends": ends})
        case IsObserver(member):
            ids = sorted(replica.id for replica in quorum.observers)
            return Seen(situation.node(member).id in ids, ids)
        case LeadsQuorum(member):
            wanted = quorum.leader_id if member is None else situation.node(member).id
            return Seen(quorum.leader_id == wanted and quorum.high_watermark >= 0, quorum.leader_id)


def _ids(members: tuple[Member, ...], situation: Situation) -> list[int]:
    return [situation.node(member).id for member in members]
