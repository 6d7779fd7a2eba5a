"""Admin operations in scenarios: elections, voters, reassignments, features, configs.

Nodes and brokers are named by their place in the topology, so that a scenario reads the same in combined and
isolated mode.  Operations with a ``draw`` are symbolic: what they mean is decided when they are performed, by
what the cluster looks like then, and recorded.
"""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from harness.vocabulary.topology import Node, Role


class Member(msgspec.Struct, frozen=True):
    """A node by its role and its place among those of that role, counted from 1."""

    role: Role
    number: int

    def of(self, nodes: Iterable[Node]) -> Node | None:
        """The node, given all nodes of a topology; None if it has no such node."""
        alike = [node for node in nodes if self.role in node.roles]
        return alike[self.number - 1] if 0 < self.number <= len(alike) else None


def broker(number: int) -> Member:
    """The broker with that id: brokers are numbered from 1 in both modes."""
    return Member(Role.BROKER, number)


def controller(number: int) -> Member:
    """The controller in that place."""
    return Member(Role.CONTROLLER, number)


class ElectionType(StrEnum):
    """KIP-460's types of elections."""

    PREFERRED = "preferred"
    UNCLEAN = "unclean"


class ElectLeaders(msgspec.Struct, frozen=True, tag_field="kind", tag="elect-leaders"):
    """Ask for elections (KIP-460).

    Attributes:
        type: preferred or unclean.
        partitions: topic and partition; None asks for all of the cluster.
    """

    type: ElectionType
    partitions: tuple[tuple[str, int], ...] | None = None


class AddVoter(msgspec.Struct, frozen=True, tag_field="kind", tag="add-voter"):
    """Ask for a voter to be added (KIP-853): its directory id is read from its disk when that is done.

    Attributes:
        member: who; None: the first controller that the leader does not report as a voter.
    """

    member: Member | None = None


class RemoveVoter(msgspec.Struct, frozen=True, tag_field="kind", tag="remove-voter"):
    """Ask for a voter to be removed, by the directory id that the leader's set of voters has for it.

    Attributes:
        member: who; None: the leader.
    """

    member: Member | None = None


class Reassign(msgspec.Struct, frozen=True, tag_field="kind", tag="reassign"):
    """Ask for other replicas (KIP-455).

    Attributes:
        targets: topic, partition and the broker ids wanted; None cancels.
        throttle_bytes_per_s: limit for moving, None for none.
    """

    targets: tuple[tuple[str, int, tuple[int, ...] | None], ...]
    throttle_bytes_per_s: int | None = None


class UpdateFeature(msgspec.Struct, frozen=True, tag_field="kind", tag="update-feature"):
    """Ask for a finalized feature level to be raised (KIP-584).

    Attributes:
        feature: its name, e.g. ``metadata.version``.
        level: the level; None: the newest that the broker that is asked supports.
    """

    feature: str
    level: int | None = None


class AlterTopic(msgspec.Struct, frozen=True, tag_field="kind", tag="alter-topic"):
    """Set one config of a topic."""

    topic: str
    config: str
    value: str


class AddPartitions(msgspec.Struct, frozen=True, tag_field="kind", tag="add-partitions"):
    """Let a topic have more partitions (KIP-195).

    Attributes:
        count: how many it is to have then, in all.
        topic: its name; None: the first topic of the workload.
    """

    count: int
    topic: str | None = None


class LateHeartbeat(msgspec.Struct, frozen=True, tag_field="kind", tag="late-heartbeat"):
    """Send the active controller a heartbeat in a broker's name, as if the network had held it until now.

    It has the epoch of the broker's last registration, and wants neither to be fenced nor to shut down.

    Attributes:
        member: the broker.
    """

    member: Member


class ElectSome(msgspec.Struct, frozen=True, tag_field="kind", tag="elect-some"):
    """An election of one type for a few of the workload's partitions, or all."""

    type: ElectionType
    draw: int = 0


class ReassignSome(msgspec.Struct, frozen=True, tag_field="kind", tag="reassign-some"):
    """Move one of the workload's partitions to other brokers, change its order or its number of copies."""

    draw: int = 0


class CancelSome(msgspec.Struct, frozen=True, tag_field="kind", tag="cancel-some"):
    """Cancel the ongoing reassignments; if there is none, begin a slow one for the next cancellation."""

    draw: int = 0


class ChangeVoters(msgspec.Struct, frozen=True, tag_field="kind", tag="change-voters"):
    """Add an observer that is a controller, or remove a voter if a majority of the others stays up."""

    draw: int = 0


class AlterSome(msgspec.Struct, frozen=True, tag_field="kind", tag="alter-some"):
    """Set a config of one of the workload's topics that a correct Kafka accepts at any time.

    ``min.insync.replicas`` within what its partitions have, sizes and ages of segments, flushes, indexes.
    """

    draw: int = 0


class AddSome(msgspec.Struct, frozen=True, tag_field="kind", tag="add-some-partitions"):
    """Add one partition or two to the workload's first topic, until it has twice as many as it began with."""

    draw: int = 0


Concrete = (
    ElectLeaders
    | AddVoter
    | RemoveVoter
    | Reassign
    | UpdateFeature
    | AlterTopic
    | AddPartitions
    | LateHeartbeat
)
Drawn = ElectSome | ReassignSome | CancelSome | ChangeVoters | AlterSome | AddSome
AdminOperation = Concrete | Drawn
Moving = Reassign | ReassignSome | CancelSome
"""Operations that begin or end reassignments."""
