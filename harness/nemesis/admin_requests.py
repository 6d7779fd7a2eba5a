"""Makes a request from an admin operation, and sends it."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec import UNSET, structs

from checkers.history.requested import (
    AdminRequested,
    AnsweredInWords,
    BrokerAltered,
    BrokersAltered,
    BrokerUnregistered,
    ControllerUnregistered,
    ElectionRequested,
    FeatureRequested,
    GroupAltered,
    HeartbeatSent,
    PartitionsAdded,
    ReassignmentRequested,
    ReassignmentTarget,
    TopicAltered,
    UpgradeType,
    VoterOffered,
    VoterRequested,
)
from harness.administration.elections import elect_leaders
from harness.administration.features import FeatureUpdate, newest_level, update_feature
from harness.administration.heartbeats import registered_epoch
from harness.administration.reassignments import alter_reassignments, list_reassignments
from harness.administration.settings import (
    SettingAnswer,
    add_partitions,
    alter_brokers,
    alter_group,
    alter_topic,
)
from harness.administration.throttles import Move, Throttle, set_throttle, throttle_for
from harness.administration.voters import VoterKey, add_voter, outcome_of, remove_voter
from harness.kafka.answers import QuorumAnswer
from harness.kafka.snapshot import ClusterSnapshot
from harness.kafka.wire import METADATA_TOPIC, WireError, answers
from harness.nemesis.administered import Administered
from harness.nemesis.answers import (
    RecordedAnswer,
    in_words,
    of_feature,
    of_partitions,
)
from harness.nemesis.node_requests import NodeOperation, ask_about, change_of_node
from harness.vocabulary.administration import (
    AddPartitions,
    AddVoter,
    AlterBroker,
    AlterBrokers,
    AlterGroup,
    AlterTopic,
    Brokered,
    Concrete,
    ElectionType,
    ElectLeaders,
    LateHeartbeat,
    Reassign,
    RemoveVoter,
    UnregisterBroker,
    UnregisterController,
    UpdateFeature,
)
from harness.vocabulary.topology import Node

_PROBE_S = 0.5
_CONTROLLER_LISTENER = "CONTROLLER"
Address = tuple[str, int]
Key = int | str | None
"""A node's id, the name of a topic, group, feature or config, or the type of an election."""


class NoTargetError(WireError):
    """No request was sent: no broker answers, data about a node is missing, or a throttle was not set."""


class PreparedRequest(NamedTuple):
    """A request as recorded in the history: key, value, name of the receiving node; and its listener."""

    key: Key
    value: AdminRequested
    to: str
    address: Address


class AdminRequests:
    """Requests to one cluster.

    Args:
        cluster: the cluster that receives the requests.
        look: takes a snapshot of the cluster.

    Attributes:
        throttles: throttles of reassignments that were set and not yet removed.
    """

    def __init__(self, cluster: Administered, look: Callable[[], ClusterSnapshot]) -> None:
        self._cluster = cluster
        self._look = look
        self._members_changed = 0
        self._directory_ids: dict[int, str] = {}
        self.throttles: list[Throttle] = []

    def prepare(self, operation: Concrete, snapshot: ClusterSnapshot) -> PreparedRequest:
        """Determine the request and the node to send it to.

        Raises:
            NoTargetError: no broker answers, or a directory id or an epoch is not known.
            LookupError: the operation names a node that the topology does not have.
        """
        if isinstance(operation, LateHeartbeat):
            return self._prepare_heartbeat(operation, snapshot)
        if isinstance(operation, AlterBroker):
            node = self.itself(snapshot.node(operation.member))
        else:
            node = self.answering(snapshot)
        key, value = self._as_value(operation, snapshot)
        address = self.address_of(node)
        if isinstance(operation, AddVoter | RemoveVoter | UnregisterBroker | UnregisterController):
            node, address = self._broker_or_leader(node, snapshot)
        return PreparedRequest(key, structs.replace(value, to=node.name), node.name, address)

    def _prepare_heartbeat(self, operation: LateHeartbeat, snapshot: ClusterSnapshot) -> PreparedRequest:
        """A heartbeat for the active controller, with the broker's epoch from the controller's log.

        Raises:
            NoTargetError: no active controller is known, or it knows no registration of the broker.
            LookupError: the topology does not have that broker.
        """
        broker, quorum = snapshot.node(operation.member), snapshot.quorum
        if quorum is None:
            raise NoTargetError("no leader of the quorum is seen")
        controller = snapshot.by_id[quorum.leader_id]
        try:
            epoch = registered_epoch(self._cluster.home(controller).disk / f"{METADATA_TOPIC}-0", broker.id)
        except OSError as error:
            raise NoTargetError(f"the metadata log of {controller.name} can't be read: {error}") from error
        if epoch is None:
            raise NoTargetError(f"no registration of {broker.name} is in the log of {controller.name}")
        value = HeartbeatSent(to=controller.name, epoch=epoch, metadata_offset=quorum.high_watermark)
        return PreparedRequest(
            broker.id, value, controller.name, self._cluster.controller_listeners[controller.name]
        )

    def answering(self, snapshot: ClusterSnapshot) -> Node:
        """The first broker that is alive; brokers that a fault affects are not tried.

        Raises:
            NoTargetError: there is no such broker.
        """
        for node in self._cluster.nodes:
            if node.id in snapshot.brokers_up and answers(*self.address_of(node), _PROBE_S):
                return node
        raise NoTargetError("no broker answers")

    def itself(self, broker: Node) -> Node:
        """The broker that a config is for: others refuse the request (``ConfigAdminManager.preprocess``).

        Raises:
            NoTargetError: it does not answer.
        """
        if not answers(*self.address_of(broker), _PROBE_S):
            raise NoTargetError(f"{broker.name} does not answer")
        return broker

    def with_ongoing_reassignments(self, snapshot: ClusterSnapshot, timeout_ms: int) -> ClusterSnapshot:
        """The snapshot with the current ongoing reassignments; the observed ones may be outdated.

        If no broker answers, the ongoing reassignments are unknown.
        """
        try:
            address = self.address_of(self.answering(snapshot))
            return structs.replace(snapshot, ongoing=list_reassignments(address, timeout_ms))
        except WireError:
            return structs.replace(snapshot, ongoing=None)

    def address_of(self, node: Node) -> Address:
        """The listener of a broker that receives requests."""
        return self._cluster.observe_listeners[node.name]

    def _broker_or_leader(self, node: Node, snapshot: ClusterSnapshot) -> tuple[Node, Address]:
        """Alternately a broker, which forwards the request, and the leader of the quorum itself (KIP-919).

        Either may have outdated information: a broker was seen to forward requests to a leader that had
        removed itself.
        """
        self._members_changed += 1
        leader = snapshot.active_controller
        for other in self._cluster.nodes:
            if other.id == leader and self._members_changed % 2 == 0:
                return other, self._cluster.controller_listeners[other.name]
        return node, self.address_of(node)

    def ask(self, asked: PreparedRequest, timeout_ms: int) -> RecordedAnswer:
        """Send the request and wait for its answer.

        Raises:
            NoTargetError: the throttle of a reassignment could not be set.
            WireError: no answer; its outcome is unknown.
        """
        address = asked.address
        match asked.key, asked.value:
            case str(kind), ElectionRequested(partitions=partitions):
                election = elect_leaders(address, ElectionType(kind), partitions, timeout_ms)
                return of_partitions(election.code, None, election.results)
            case None, ReassignmentRequested(targets=targets, throttle_bytes_per_s=throttle):
                if throttle is not None:
                    self._set_throttle(address, targets, throttle)
                moving = alter_reassignments(address, targets, timeout_ms)
                return of_partitions(moving.code, moving.message, moving.results)
            case int(voter), VoterRequested() as change:
                return self._ask_for_voter(address, voter, change, timeout_ms)
            case int(node), (
                HeartbeatSent() | BrokerAltered() | BrokerUnregistered() | ControllerUnregistered()
            ) as about:
                return ask_about(node, about, address, timeout_ms)
            case str(name), (FeatureRequested() | PartitionsAdded()) as setting:
                return _set(name, setting, address, timeout_ms)
            case str(name), (TopicAltered() | BrokersAltered() | GroupAltered()) as altered:
                return in_words(_alter(name, altered, address))
        raise AssertionError(asked)

    def _as_value(self, operation: Brokered, snapshot: ClusterSnapshot) -> tuple[Key, AdminRequested]:
        match operation:
            case ElectLeaders(type=kind, partitions=partitions):
                return str(kind), ElectionRequested(partitions=partitions)
            case AddVoter() | RemoveVoter():
                voter = _meant(operation, snapshot)
                return voter.id, self._voter(operation, voter, snapshot.quorum)
            case Reassign(targets=targets, throttle_bytes_per_s=throttle):
                return None, ReassignmentRequested(targets=targets, throttle_bytes_per_s=throttle)
            case UpdateFeature(feature=feature, level=level):
                return feature, FeatureRequested(
                    level=self._newest(feature, snapshot) if level is None else level,
                    upgrade_type=operation.upgrade_type,
                    validate_only=operation.validate_only,
                )
            case AddPartitions(topic=topic, count=count):
                return topic or _first_topic(snapshot), PartitionsAdded(count=count)
            case _:
                return _alteration(operation, snapshot)

    def _newest(self, feature: str, snapshot: ClusterSnapshot) -> int:
        """The newest level of a feature that a broker supports.

        Raises:
            NoTargetError: no broker answers, or it does not know the feature.
        """
        node = self.answering(snapshot)
        try:
            return newest_level(self.address_of(node), feature)
        except WireError as error:
            raise NoTargetError(f"{node.name} reports no level of {feature}: {error}") from error

    def _voter(
        self, operation: AddVoter | RemoveVoter, voter: Node, quorum: QuorumAnswer | None
    ) -> VoterRequested:
        directory = self._directory(operation, voter, quorum)
        if directory is None:
            raise NoTargetError(f"the directory id of {voter.name} is not known")
        if isinstance(operation, RemoveVoter):
            return VoterRequested(directory_id=directory)
        return VoterOffered(
            directory_id=directory, endpoints=((_CONTROLLER_LISTENER, *self._endpoint(voter)),)
        )

    def _directory(
        self, operation: AddVoter | RemoveVoter, voter: Node, quorum: QuorumAnswer | None
    ) -> str | None:
        """The directory id of a voter: from its disk to add it, from leaders' last answers to remove it.

        When a voter is to be removed, its disk may be lost or replaced, or it may be removed already.
        """
        voters = () if quorum is None else quorum.voters
        self._directory_ids.update(
            {one.id: one.directory_id for one in voters if one.directory_id is not None}
        )
        if isinstance(operation, RemoveVoter) and voter.id in self._directory_ids:
            return self._directory_ids[voter.id]
        return self._cluster.home(voter).directory_id()  # as in a static quorum, where leaders report none

    def _endpoint(self, voter: Node) -> Address:
        """Address of the voter; for a broker, the address of its additional controller listener."""
        return {**self._cluster.observe_listeners, **self._cluster.controller_listeners}[voter.name]

    def _ask_for_voter(
        self, address: Address, voter: int, asked: VoterRequested, timeout_ms: int
    ) -> RecordedAnswer:
        key, cluster = VoterKey(voter, asked.directory_id or ""), self._cluster.cluster_id
        if isinstance(asked, VoterOffered):
            answer = add_voter(address, cluster, key, asked.endpoints, timeout_ms)
        else:
            answer = remove_voter(address, cluster, key, timeout_ms)
        content = AnsweredInWords(code=answer.code, message=answer.message)
        return RecordedAnswer(outcome_of(answer), (answer.code,), content)

    def _set_throttle(
        self, address: Address, targets: Sequence[ReassignmentTarget], bytes_per_s: int
    ) -> None:
        known = self._look().partitions
        moves = [
            Move(topic, number, known[topic, number].replicas, wanted)
            for topic, number, wanted in targets
            if wanted is not None and (topic, number) in known
        ]
        throttle = throttle_for(moves, bytes_per_s)
        self.throttles.append(throttle)  # first: a throttle that was set in part must be removed too
        try:
            set_throttle(address, throttle)
        except WireError as error:
            raise NoTargetError(f"the limits could not be set: {error}") from error


def _alteration(
    operation: AlterTopic | AlterBrokers | AlterGroup | NodeOperation, snapshot: ClusterSnapshot
) -> tuple[Key, AdminRequested]:
    match operation:
        case AlterBroker() | UnregisterBroker() | UnregisterController():
            return snapshot.node(operation.member).id, change_of_node(operation)
        case AlterBrokers(config=config, value=value):
            return config, BrokersAltered(value=value)
        case AlterGroup(group=group, config=config, value=value):
            return group, GroupAltered(config=config, value=value)
        case AlterTopic(topic=topic, config=config, value=value):
            return topic, TopicAltered(config=config, value=value)


def _first_topic(snapshot: ClusterSnapshot) -> str:
    """Name of the workload's first topic.

    Raises:
        NoTargetError: the workload's topics are not known.
    """
    if snapshot.first_topic is None:
        raise NoTargetError("the workload's topics are not known")
    return snapshot.first_topic.name


def _meant(operation: AddVoter | RemoveVoter, snapshot: ClusterSnapshot) -> Node:
    """The node that is added or removed.

    Raises:
        NoTargetError: the operation is symbolic, and no leader is known or no node fits.
        LookupError: the topology does not have the node.
    """
    if operation.member is not None:
        return snapshot.node(operation.member)
    if snapshot.quorum is None:
        raise NoTargetError("no leader of the quorum is seen")
    voters = {voter.id for voter in snapshot.quorum.voters}
    leader = {snapshot.quorum.leader_id}
    for node in snapshot.nodes:
        if node.id in leader if isinstance(operation, RemoveVoter) else _may_join(node, voters):
            return node
    raise NoTargetError("no node fits")


def _may_join(node: Node, voters: set[int]) -> bool:
    return node.is_controller and node.id not in voters


def _set(
    name: str, asked: FeatureRequested | PartitionsAdded, address: Address, timeout_ms: int
) -> RecordedAnswer:
    match asked:
        case FeatureRequested(level=level, upgrade_type=kind, validate_only=only):
            kind = UpgradeType.UPGRADE if kind is UNSET else kind
            update = FeatureUpdate(name, level, kind, validate_only=only is True)
            return of_feature(update_feature(address, update, timeout_ms))
        case PartitionsAdded(count=count):
            return in_words(add_partitions(address, name, count, timeout_ms))


def _alter(name: str, asked: TopicAltered | BrokersAltered | GroupAltered, address: Address) -> SettingAnswer:
    match asked:
        case TopicAltered(config=config, value=value):
            return alter_topic(address, name, config, value)
        case BrokersAltered(value=value):
            return alter_brokers(address, name, value)
        case GroupAltered(config=config, value=value):
            return alter_group(address, name, config, value)
