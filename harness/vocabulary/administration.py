"""Admin operations in scenarios: elections, voters, reassignments, features, configs.

Nodes and brokers are named by their place in the topology, so that a scenario reads the same in combined and
isolated mode.  Operations with a ``draw`` are symbolic: when one is performed, the state of the cluster
decides what it means, and this is recorded.
"""

from collections.abc import Iterable
from enum import StrEnum

import msgspec
from msgspec import UNSET, UnsetType

from checkers.history.requested import UpgradeType
from harness.vocabulary.topology import Node, Role


class Member(msgspec.Struct, frozen=True):
    """A node, named by its role and its place among the nodes with that role, counted from 1."""

    role: Role
    number: int

    def of(self, nodes: Iterable[Node]) -> Node | None:
        """The node, given all nodes of a topology; None if it has no such node."""
        alike = [node for node in nodes if self.role in node.roles]
        return alike[self.number - 1] if 0 < self.number <= len(alike) else None


def broker(number: int) -> Member:
    """The broker with this id.  Brokers are numbered from 1 in both modes."""
    return Member(Role.BROKER, number)


def brokers(count: int) -> tuple[Member, ...]:
    """The brokers with the ids 1 to `count`."""
    return tuple(broker(number) for number in range(1, count + 1))


def controller(number: int) -> Member:
    """The controller at this place, counted from 1."""
    return Member(Role.CONTROLLER, number)


def controllers(count: int) -> tuple[Member, ...]:
    """The controllers at the places 1 to `count`."""
    return tuple(controller(number) for number in range(1, count + 1))


class ElectionType(StrEnum):
    """The types of leader elections in KIP-460."""

    PREFERRED = "preferred"
    UNCLEAN = "unclean"


class ElectLeaders(msgspec.Struct, frozen=True, tag_field="kind", tag="elect-leaders"):
    """Request leader elections (KIP-460).

    Attributes:
        type: preferred or unclean.
        partitions: topic and partition of each; None requests elections for all partitions of the cluster.
    """

    type: ElectionType
    partitions: tuple[tuple[str, int], ...] | None = None


class AddVoter(msgspec.Struct, frozen=True, tag_field="kind", tag="add-voter"):
    """Request that a voter is added (KIP-853).  Its directory id is read from its disk before the request.

    Attributes:
        member: the node; None: the first controller that the leader does not report as a voter.
    """

    member: Member | None = None


class RemoveVoter(msgspec.Struct, frozen=True, tag_field="kind", tag="remove-voter"):
    """Request that a voter is removed, with the directory id that it has in the leader's set of voters.

    Attributes:
        member: the node; None: the leader.
    """

    member: Member | None = None


class Reassign(msgspec.Struct, frozen=True, tag_field="kind", tag="reassign"):
    """Request a reassignment of partitions (KIP-455).

    Attributes:
        targets: topic, partition and the requested broker ids; None instead of ids cancels a reassignment.
        throttle_bytes_per_s: limit of the replication rate; None: no limit.
    """

    targets: tuple[tuple[str, int, tuple[int, ...] | None], ...]
    throttle_bytes_per_s: int | None = None


class UpdateFeature(msgspec.Struct, frozen=True, tag_field="kind", tag="update-feature"):
    """Request a finalized level of a feature (KIP-584).

    Attributes:
        feature: its name, e.g. ``metadata.version``.
        level: the level, 0 to turn the feature off; None: the highest level that the broker supports to which
            the request is sent.
        upgrade_type: what the change may be (KIP-778); unset: an upgrade.
        validate_only: whether Kafka should only check the change; unset: it should make it.
    """

    feature: str
    level: int | None = None
    upgrade_type: UpgradeType | UnsetType = UNSET
    validate_only: bool | UnsetType = UNSET


class AlterTopic(msgspec.Struct, frozen=True, tag_field="kind", tag="alter-topic"):
    """Set one config of a topic."""

    topic: str
    config: str
    value: str


BROKER_DEFAULTS = ("min.insync.replicas",)
"""Configs whose default of all brokers the checkers follow, so that `AlterBrokers` may set it."""


class AlterBrokers(msgspec.Struct, frozen=True, tag_field="kind", tag="alter-brokers"):
    """Set one dynamic config as the default of all brokers (KIP-226).

    A schedule that sets another config than those of `BROKER_DEFAULTS` is refused before the run.  The
    checkers do not know such a default, so they would report what it permits, such as unclean elections.
    """

    config: str
    value: str


BROKER_CONFIGS = ("cordoned.log.dirs",)
"""Dynamic configs of single brokers that the checkers follow, so that `AlterBroker` may set them."""


class AlterBroker(msgspec.Struct, frozen=True, tag_field="kind", tag="alter-broker"):
    """Set one dynamic config of one broker (KIP-226), such as ``cordoned.log.dirs`` (KIP-1066, since 4.3).

    A schedule that sets another config than those of `BROKER_CONFIGS` is refused before the run.  A config
    that still has a value when the schedule has ended is removed before recovery.

    Attributes:
        member: the broker.
        config: name of the config.
        value: its value; None removes it, so that the value of server.properties counts again.
    """

    member: Member
    config: str
    value: str | None


class AlterGroup(msgspec.Struct, frozen=True, tag_field="kind", tag="alter-group"):
    """Set one config of a group (KIP-848, KIP-932), for example ``share.auto.offset.reset``."""

    group: str
    config: str
    value: str


class AddPartitions(msgspec.Struct, frozen=True, tag_field="kind", tag="add-partitions"):
    """Increase the number of partitions of a topic (KIP-195).

    Attributes:
        count: the new total number of partitions.
        topic: its name; None: the first topic of the workload.
    """

    count: int
    topic: str | None = None


class UnregisterBroker(msgspec.Struct, frozen=True, tag_field="kind", tag="unregister-broker"):
    """Remove the registration of a broker (KIP-500).

    Kafka removes the broker from every ISR first, and keeps its replicas in the assignments.  It does not
    refuse the request while the broker runs.  Such a broker does not register again before its next start.
    """

    member: Member


class UnregisterController(msgspec.Struct, frozen=True, tag_field="kind", tag="unregister-controller"):
    """Remove the registration of a controller (KIP-1312, since 4.4); it does not change the voters.

    Kafka refuses it only for the active controller.  Another one that runs registers again.
    """

    member: Member


class LateHeartbeat(msgspec.Struct, frozen=True, tag_field="kind", tag="late-heartbeat"):
    """Send the active controller a heartbeat with a broker's id, as if the network had delayed it until now.

    It has the epoch of the broker's last registration, and requests neither fencing nor shutdown.

    Attributes:
        member: the broker.
    """

    member: Member


class ElectSome(msgspec.Struct, frozen=True, tag_field="kind", tag="elect-some"):
    """An election of one type for some of the workload's partitions, or for all of them."""

    type: ElectionType
    draw: int = 0


class ReassignSome(msgspec.Struct, frozen=True, tag_field="kind", tag="reassign-some"):
    """Reassign one of the workload's partitions: other brokers, another order or number of replicas."""

    draw: int = 0


class CancelSome(msgspec.Struct, frozen=True, tag_field="kind", tag="cancel-some"):
    """Cancel the ongoing reassignments.  If there is none, begin a slow one that the next can cancel."""

    draw: int = 0


class ChangeVoters(msgspec.Struct, frozen=True, tag_field="kind", tag="change-voters"):
    """Add a controller that is an observer, or remove a voter if a majority of the remaining voters is up."""

    draw: int = 0


class AlterSome(msgspec.Struct, frozen=True, tag_field="kind", tag="alter-some"):
    """Set a config of one of the workload's topics to a value that a correct Kafka accepts at any time.

    The configs are ``min.insync.replicas`` (up to the number of replicas), sizes and ages of segments,
    flushes and indexes.
    """

    draw: int = 0


class AddSome(msgspec.Struct, frozen=True, tag_field="kind", tag="add-some-partitions"):
    """Add one or two partitions to the workload's first topic, until it has twice its initial number."""

    draw: int = 0


Brokered = (
    ElectLeaders
    | AddVoter
    | RemoveVoter
    | Reassign
    | UpdateFeature
    | AlterTopic
    | AlterBrokers
    | AlterBroker
    | AlterGroup
    | AddPartitions
    | UnregisterBroker
    | UnregisterController
)
"""Operations that can be requested from a broker."""
Concrete = Brokered | LateHeartbeat
Drawn = ElectSome | ReassignSome | CancelSome | ChangeVoters | AlterSome | AddSome
AdminOperation = Concrete | Drawn
Moving = Reassign | ReassignSome | CancelSome
"""Operations that begin or end reassignments."""
