"""Chooses the nodes of a gambit, and evaluates the conditions that it waits for; pure."""

from collections.abc import Collection, Sequence

import msgspec

from checkers.evidence.coordinators import OFFSETS_TOPIC, number_of
from checkers.history.observed import PartitionAnswer
from harness.faults.cuts import drawn_to
from harness.faults.partition import takes_part
from harness.kafka.answers import Place
from harness.kafka.snapshot import ClusterSnapshot
from harness.nemesis.conditions import ConditionState, state_of_condition
from harness.vocabulary.administration import (
    AddVoter,
    AlterTopic,
    Concrete,
    ElectLeaders,
    Member,
    Reassign,
    RemoveVoter,
)
from harness.vocabulary.faults import Fault, Partition
from harness.vocabulary.gambits import (
    AddPart,
    AllInSync,
    AlterChosen,
    BeingAdded,
    Choice,
    ChooseCoordinator,
    ChooseNewcomers,
    ChoosePartition,
    ChooseQuorum,
    ChooseSuccessor,
    ChosenOperation,
    ElectChosen,
    FaultAt,
    Given,
    InSyncAlone,
    Joined,
    Leaderless,
    LedBy,
    LedByAnother,
    Observing,
    OutOfSync,
    Part,
    QuorumLed,
    QuorumLedByAnother,
    ReassignChosen,
    RemovePart,
    Situational,
)
from harness.vocabulary.moves import NothingMoves
from harness.vocabulary.topology import Node, Role

_FOLLOWERS_SHIFT = 8
"""The draw's upper bits decide among followers, independently of the partition."""


class Chosen(msgspec.Struct, frozen=True):
    """The nodes and the partition that a gambit has chosen.

    Attributes:
        parts: nodes by part.
        where: the chosen partition; None if no partition was chosen.
    """

    parts: dict[str, Node] = {}
    where: Place | None = None

    def merged_with(self, other: "Chosen") -> "Chosen":
        """Both choices together; the later one takes precedence."""
        return Chosen(self.parts | other.parts, other.where or self.where)

    def node(self, part: Part, nodes: Sequence[Node]) -> Node:
        """The node that a move means.

        Raises:
            LookupError: no node has that part, or the topology has no such node.
        """
        found = part.of(nodes) if isinstance(part, Member) else self.parts.get(part)
        if found is None:
            raise LookupError(f"no node is {part}")
        return found


def chosen_now(
    choice: Choice,
    snapshot: ClusterSnapshot,
    chosen: Chosen = Chosen(),  # noqa: B008 - frozen
    static_groups: Collection[str] = (),
) -> Chosen | None:
    """The result of a choice, given the earlier choices; None if nothing fits now.

    Args:
        choice: what to choose.
        snapshot: the current state of the cluster.
        chosen: what was chosen before.
        static_groups: ids of the groups that have static members.
    """
    match choice:
        case ChooseSuccessor():
            state = snapshot.partition(chosen.where)
            leader = None if state is None else snapshot.up.get(state.leader)
            return None if leader is None else Chosen({"successor": leader})
        case ChooseNewcomers():
            return _newcomers(choice, snapshot, chosen)
        case Given(parts, where):
            state = snapshot.partition(where)
            there = where is None or (state is not None and _whole(state))
            nodes = {part: member.of(snapshot.nodes) for part, member in parts.items()}
            found = {part: node for part, node in nodes.items() if node is not None}
            return Chosen(found, where) if there and len(found) == len(parts) else None
        case ChoosePartition():
            return _copies(choice, snapshot, snapshot.partitions)
        case ChooseCoordinator(draw):
            places = {coordinating(group, snapshot) for group in static_groups}
            return _copies(ChoosePartition(draw, OFFSETS_TOPIC), snapshot, places)
        case ChooseQuorum():
            return _quorum(choice, snapshot)


def coordinating(group: str, snapshot: ClusterSnapshot) -> Place | None:
    """The partition whose leader coordinates a group; None if the number of partitions is not known."""
    count = sum(topic == OFFSETS_TOPIC for topic, _ in snapshot.reported)
    return (OFFSETS_TOPIC, number_of(group, count)) if count else None


def still_leads(chosen: Chosen, snapshot: ClusterSnapshot) -> bool:
    """Whether the chosen leader still leads the chosen partition, or the quorum."""
    state = snapshot.partition(chosen.where)
    leads = {"leader": state and state.leader, "controller": snapshot.active_controller}
    return all(node.id == leads[part] for part, node in chosen.parts.items() if part in leads)


def resolved(what: ChosenOperation, chosen: Chosen, nodes: Sequence[Node]) -> Concrete:
    """The request, given the chosen partition and nodes.

    Raises:
        LookupError: no partition was chosen, or no node has the named part.
    """
    match what:
        case AddPart(part):
            return AddVoter(member_of(chosen.node(part, nodes), nodes))
        case RemovePart(part):
            return RemoveVoter(member_of(chosen.node(part, nodes), nodes))
        case ReassignChosen() | AlterChosen() | ElectChosen():
            return _of_chosen(what, chosen, nodes)


def _of_chosen(
    what: ReassignChosen | AlterChosen | ElectChosen, chosen: Chosen, nodes: Sequence[Node]
) -> Concrete:
    if chosen.where is None:
        raise LookupError("no partition was chosen")
    topic, number = chosen.where
    match what:
        case AlterChosen(config, value):
            return AlterTopic(topic, config, value)
        case ElectChosen(kind):
            return ElectLeaders(kind, (chosen.where,))
        case ReassignChosen(wanted, throttle):
            ids = None if wanted is None else tuple(chosen.node(part, nodes).id for part in wanted)
            return Reassign(((topic, number, ids),), throttle)


def member_of(node: Node, nodes: Sequence[Node]) -> Member:
    """A node by its place in the topology."""
    role = Role.BROKER if node.is_broker else Role.CONTROLLER
    return Member(role, [other for other in nodes if role in other.roles].index(node) + 1)


def fault_at(aimed: FaultAt, chosen: Chosen, nodes: Sequence[Node]) -> Fault:
    """The fault with the node that it hits, and with the other end of the link that it cuts.

    Raises:
        LookupError: no node has a named part, or no link of such a partition has these ends.
    """
    target = chosen.node(aimed.at, nodes)
    fault = msgspec.structs.replace(aimed.fault, target=member_of(target, nodes))
    if aimed.to is None or not isinstance(fault, Partition):
        return fault
    names = tuple(node.name for node in nodes if takes_part(fault, node))
    end = chosen.node(aimed.to, nodes).name
    return msgspec.structs.replace(fault, draw=drawn_to(names, target.name, end))


def state_of_gambit_condition(
    condition: Situational, chosen: Chosen, snapshot: ClusterSnapshot
) -> ConditionState:
    """Evaluate a condition on a snapshot of the cluster.

    Raises:
        LookupError: the condition names a part that no node has.
    """
    match condition:
        case AllInSync():
            partitions = snapshot.partitions
            lacking = [f"{topic}/{n}" for (topic, n), one in partitions.items() if not _whole(one)]
            return ConditionState(bool(partitions) and not lacking, lacking)
        case QuorumLed():
            return _of_quorum(None, snapshot)
        case QuorumLedByAnother(part):
            return _of_quorum(chosen.node(part, snapshot.nodes), snapshot)
        case Observing(part):
            quorum = snapshot.quorum
            ids = [] if quorum is None else [replica.id for replica in quorum.observers]
            return ConditionState(chosen.node(part, snapshot.nodes).id in ids, ids)
        case NothingMoves():
            return state_of_condition(condition, snapshot, acked=0)
        case LedBy() | LedByAnother() | InSyncAlone() | OutOfSync() | Joined() | BeingAdded() | Leaderless():
            return _of_partition(condition, chosen, snapshot)


def _of_quorum(former: Node | None, snapshot: ClusterSnapshot) -> ConditionState:
    quorum = snapshot.quorum
    if quorum is None:
        return ConditionState(holds=False, saw=None)
    another = former is None or quorum.leader_id != former.id
    return ConditionState(another and quorum.high_watermark >= 0, quorum.leader_id)


def _of_partition(
    condition: LedBy | LedByAnother | InSyncAlone | OutOfSync | Joined | BeingAdded | Leaderless,
    chosen: Chosen,
    snapshot: ClusterSnapshot,
) -> ConditionState:
    state = snapshot.partition(chosen.where)
    if state is None:
        return ConditionState(holds=False, saw=None)
    saw = {"leader": state.leader, "isr": state.isr}
    nodes = snapshot.nodes
    match condition:
        case LedBy(part):
            holds = state.leader == chosen.node(part, nodes).id
        case LedByAnother(parts):
            holds = state.leader >= 0 and state.leader not in {chosen.node(part, nodes).id for part in parts}
        case Leaderless():
            holds = state.leader < 0
        case InSyncAlone(part):
            alone = chosen.node(part, nodes).id
            holds = state.leader == alone and list(state.isr) == [alone]
        case OutOfSync(part):
            holds = state.leader >= 0 and chosen.node(part, nodes).id not in state.isr
        case Joined(part):
            holds = state.leader >= 0 and chosen.node(part, nodes).id in state.isr
        case BeingAdded(part):
            added = chosen.node(part, nodes).id
            holds = added in state.replicas and added not in state.isr
            saw["replicas"] = state.replicas
    return ConditionState(holds, saw)


def _copies(
    choice: ChoosePartition, snapshot: ClusterSnapshot, places: Collection[Place | None]
) -> Chosen | None:
    """A partition among these places, and its replicas."""
    up = set(snapshot.brokers_up)
    fitting = [
        (where, one)
        for where, one in sorted(snapshot.partitions.items(), key=lambda item: item[0])
        if where in places
        and choice.topic in (None, where[0])
        and len(one.replicas) >= choice.replicas_min
        and _whole(one)
        and up.issuperset(one.replicas)
        and not (choice.preferred_follows and one.leader == one.replicas[0])
    ]
    if not fitting:
        return None
    where, state = fitting[choice.draw % len(fitting)]
    nodes = snapshot.by_id
    others = [one for one in state.replicas if one != state.leader]
    if not choice.preferred_follows:
        others = _turned(others, choice.draw >> _FOLLOWERS_SHIFT)
    followers = {f"follower-{number}": nodes[one] for number, one in enumerate(others, start=1)}
    return Chosen({"leader": nodes[state.leader], **followers}, where)


def _newcomers(choice: ChooseNewcomers, snapshot: ClusterSnapshot, chosen: Chosen) -> Chosen | None:
    state = snapshot.partition(chosen.where)
    if state is None:
        return None
    up = snapshot.brokers_up
    found = _turned([one for one in up if one not in state.replicas], choice.draw)
    if len(found) < choice.count:
        return None
    nodes = snapshot.by_id
    return Chosen({f"newcomer-{number}": nodes[one] for number, one in enumerate(found, start=1)})


def _quorum(choice: ChooseQuorum, snapshot: ClusterSnapshot) -> Chosen | None:
    quorum = snapshot.quorum
    nodes = snapshot.up
    if quorum is None or quorum.leader_id not in nodes or quorum.high_watermark < 0:
        return None
    others = [voter.id for voter in quorum.voters if voter.id in nodes and voter.id != quorum.leader_id]
    voters = {f"voter-{n}": nodes[one] for n, one in enumerate(_turned(others, choice.draw), start=1)}
    return Chosen({"controller": nodes[quorum.leader_id], **voters})


def _whole(state: PartitionAnswer) -> bool:
    return state.leader >= 0 and set(state.isr) == set(state.replicas)


def _turned(ids: list[int], draw: int) -> list[int]:
    start = draw % len(ids) if ids else 0
    return ids[start:] + ids[:start]
