"""Resolves a symbolic admin operation to a request, by the state of the cluster; pure.

Voters are changed only if a majority of the resulting set is up, so no change removes the quorum.  A voter
whose disk was replaced does not vote but still counts, so it is removed before others.
"""

import random
from collections.abc import Sequence

from harness.kafka.answers import QuorumAnswer
from harness.kafka.snapshot import ClusterSnapshot
from harness.vocabulary.administration import (
    AddPartitions,
    AddSome,
    AddVoter,
    AlterSome,
    AlterTopic,
    CancelSome,
    ChangeVoters,
    Concrete,
    Drawn,
    ElectLeaders,
    ElectSome,
    Member,
    Reassign,
    ReassignSome,
    RemoveVoter,
)
from harness.vocabulary.topology import Node, Role

_VOTERS_MIN = 3
_COPIES_MIN = 2
_ALL_SHARE = 0.2
_THROTTLE_SHARE = 0.4
_THROTTLES_BYTES_PER_S = (10_000, 20_000, 1_000_000)
"""A quota applies to a window of ten seconds (KIP-73): a larger copy lags behind for seconds.  The last quota
does not slow anything down here; it only has the effect that limits are set."""
_ADDED_AT_ONCE_MAX = 2
_GROWTH_MAX = 2
"""The maximum number of partitions of a topic, as a multiple of its initial number."""
_MIN_ISR = "min.insync.replicas"
_ALTERED: dict[str, tuple[int, ...]] = {
    _MIN_ISR: (1, 2, 2),
    "segment.bytes": (1 << 20, 1 << 24),
    "segment.ms": (500, 1_000, 4_000),
    "flush.messages": (1, 100, 10_000),
    "index.interval.bytes": (64, 4_096),
}
"""Configs that are altered at random, and their values.  With none of them traffic stops while one of three
replicas is down (KIP-1030 has the minimum values), and workloads use none of them as registers."""


def drawn(operation: Drawn, snapshot: ClusterSnapshot) -> Concrete | None:
    """The request that a symbolic operation means now; None if no request fits."""
    source = random.Random(operation.draw)
    match operation:
        case ElectSome():
            return _election(operation, snapshot, source)
        case ReassignSome():
            return _reassignment(snapshot, source)
        case CancelSome():
            return _cancelling(snapshot, source)
        case ChangeVoters():
            return _voter_change(snapshot, source)
        case AlterSome():
            return _alteration(snapshot, source)
        case AddSome():
            return _addition(snapshot, source)


def _election(operation: ElectSome, snapshot: ClusterSnapshot, source: random.Random) -> ElectLeaders | None:
    known = sorted(snapshot.partitions)
    if not known:
        return None
    if source.random() < _ALL_SHARE:
        return ElectLeaders(operation.type)
    return ElectLeaders(operation.type, tuple(sorted(source.sample(known, source.randint(1, len(known))))))


def _reassignment(snapshot: ClusterSnapshot, source: random.Random) -> Reassign | None:
    partitions = snapshot.partitions
    known = sorted(partitions)
    brokers = sorted(node.id for node in snapshot.nodes if node.is_broker)
    if not known or snapshot.ongoing is None:
        return None
    topic, number = source.choice(known)
    now = list(partitions[topic, number].replicas)
    wanted = _replicas(now, brokers, source)
    throttle = source.choice(_THROTTLES_BYTES_PER_S) if source.random() < _THROTTLE_SHARE else None
    # Kafka never carries out a request that overrides ongoing changes correctly: a known defect
    # (docs/findings.md).
    going_on = [one for one in snapshot.ongoing if one.place == (topic, number)]
    leaving = {broker for one in going_on for broker in one.removing}
    wanted = [broker for broker in wanted if broker not in leaving]
    if any(broker not in wanted for one in going_on for broker in one.adding):
        return None
    if len(wanted) < min(_COPIES_MIN, len(brokers)):
        return None
    return Reassign(((topic, number, tuple(wanted)),), throttle)


def _cancelling(snapshot: ClusterSnapshot, source: random.Random) -> Reassign | None:
    """A cancellation of an ongoing reassignment; if there is none, a move slow enough to be cancelled.

    If the ongoing reassignments are unknown, all are cancelled.
    """
    every = sorted(snapshot.partitions)
    moving = snapshot.moving
    if moving is None:
        return Reassign(tuple((topic, number, None) for topic, number in every)) if every else None
    if moving:
        return Reassign(tuple((topic, number, None) for topic, number in sorted(moving)))
    return _slow_move(snapshot, source)


def _slow_move(snapshot: ClusterSnapshot, source: random.Random) -> Reassign | None:
    """A throttled move of one replica to another broker; None if every broker has a replica."""
    brokers = {node.id for node in snapshot.nodes if node.is_broker}
    partitions = snapshot.partitions
    places = sorted(place for place, seen in partitions.items() if brokers - {*seen.replicas})
    if not places:
        return None
    topic, number = source.choice(places)
    now = partitions[topic, number].replicas
    others = sorted(brokers - {*now})
    moved = source.randrange(len(now))
    wanted = [*now[:moved], source.choice(others), *now[moved + 1 :]]
    return Reassign(((topic, number, tuple(wanted)),), min(_THROTTLES_BYTES_PER_S))


def _replicas(now: Sequence[int], brokers: Sequence[int], source: random.Random) -> list[int]:
    """Other brokers, another order, or one replica less; at least two replicas if there are two brokers."""
    least = min(_COPIES_MIN, len(brokers))
    count = source.choice([len(now), len(now), max(least, len(now) - 1), min(len(brokers), len(now) + 1)])
    return source.sample(list(brokers), count)


def _alteration(snapshot: ClusterSnapshot, source: random.Random) -> AlterTopic | None:
    """One config of one topic; ``min.insync.replicas`` is at most the replicas of its smallest partition."""
    copies: dict[str, int] = {}
    partitions = snapshot.partitions
    for (name, _), state in partitions.items():
        copies[name] = min(len(state.replicas), copies.get(name, len(state.replicas)))
    if not copies:
        return None
    topic, config = source.choice(sorted(copies)), source.choice(sorted(_ALTERED))
    value = source.choice(_ALTERED[config])
    # Otherwise Kafka removes the eligible replicas of partitions without a leader: a known defect
    # (docs/findings.md).
    led = all(state.leader >= 0 for (name, _), state in partitions.items() if name == topic)
    if config == _MIN_ISR and not led:
        return None
    return AlterTopic(topic, config, str(min(value, copies[topic]) if config == _MIN_ISR else value))


def _addition(snapshot: ClusterSnapshot, source: random.Random) -> AddPartitions | None:
    """One or two additional partitions, as long as the topic has less than its maximum."""
    topic = snapshot.first_topic
    if topic is None:
        return None
    room = _GROWTH_MAX * topic.made_with - topic.now
    added = min(room, source.randint(1, _ADDED_AT_ONCE_MAX))
    return AddPartitions(topic.now + added, topic.name) if added > 0 else None


def _voter_change(snapshot: ClusterSnapshot, source: random.Random) -> AddVoter | RemoveVoter | None:
    """Add a controller that is an observer, or remove a voter, the leader included."""
    quorum = snapshot.quorum
    if quorum is None:
        return None
    controllers = [node for node in snapshot.nodes if node.is_controller]
    voting = {voter.id for voter in quorum.voters}
    waiting = {replica.id for replica in quorum.observers} - voting
    lost = _lost(quorum)
    deaf = {node.id for node in controllers if node.name in snapshot.down} | lost
    joining = [
        node for node in controllers if node.id in waiting - deaf and _majority(voting | {node.id}, deaf)
    ]
    leaving = [
        node
        for node in controllers
        if node.id in (lost or voting)
        and (lost or len(voting) > _VOTERS_MIN)
        and _majority(voting - {node.id}, deaf)
    ]
    if joining and (not leaving or source.random() < 0.5):  # noqa: PLR2004 - an even chance
        return AddVoter(_member(source.choice(joining), controllers))
    return RemoveVoter(_member(source.choice(leaving), controllers)) if leaving else None


def _lost(quorum: QuorumAnswer) -> set[int]:
    """Voters whose node returned with another disk: it is an observer, its old directory id a voter."""
    observing = {(one.id, one.directory_id) for one in quorum.observers}
    return {
        voter.id
        for voter in quorum.voters
        for id_, directory in observing
        if id_ == voter.id and directory != voter.directory_id
    }


def _majority(voters: set[int], deaf: set[int]) -> bool:
    """Whether more than half of a set of voters can be reached."""
    return 2 * len(voters - deaf) > len(voters)


def _member(node: Node, controllers: Sequence[Node]) -> Member:
    return Member(Role.CONTROLLER, controllers.index(node) + 1)
