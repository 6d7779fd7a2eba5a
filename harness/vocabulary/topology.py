"""Topologies: which nodes a cluster has and how Kafka is configured on them."""

from enum import StrEnum

import msgspec

FIRST_CONTROLLER_ID = 101
"""Isolated controllers are numbered from here, brokers from 1, so that one can tell them apart."""
NODES_MAX = 5


class Mode(StrEnum):
    """Whether a node is broker and controller at once."""

    COMBINED = "combined"
    ISOLATED = "isolated"


class Quorum(StrEnum):
    """How the set of voters is kept: in the configuration, or in the log itself (KIP-853)."""

    STATIC = "static"
    DYNAMIC = "dynamic"


class Role(StrEnum):
    """Kafka's ``process.roles``."""

    BROKER = "broker"
    CONTROLLER = "controller"


class Node(msgspec.Struct, frozen=True):
    """One Kafka process: its name in the harness and its ``node.id``."""

    name: str
    id: int
    roles: tuple[Role, ...]

    @property
    def is_broker(self) -> bool:
        """Whether clients can talk to it."""
        return Role.BROKER in self.roles

    @property
    def is_controller(self) -> bool:
        """Whether it has a vote or could have one."""
        return Role.CONTROLLER in self.roles


class NodeFile(msgspec.Struct, frozen=True):
    """A file of the host that every node gets read-only, for agents and debuggers."""

    source: str
    destination: str


class Topology(msgspec.Struct, frozen=True):
    """A cluster to be built.

    Attributes:
        mode: combined or isolated.
        controllers: number of controllers, 1 to 5; in combined mode equal to `brokers`.
        brokers: number of brokers, 1 to 5.
        quorum: static works with every version, dynamic from 3.9.
        features: feature levels set when the storage is formatted, e.g. ``{"kraft.version": 1}``.
        config: properties that override krucible's own, for every node.
        jvm_options: extra options of every node's JVM.
        node_files: files of the host that every node gets.
    """

    mode: Mode = Mode.COMBINED
    controllers: int = 3
    brokers: int = 3
    quorum: Quorum = Quorum.DYNAMIC
    features: dict[str, int] = {}
    config: dict[str, str] = {}
    jvm_options: tuple[str, ...] = ()
    node_files: tuple[NodeFile, ...] = ()

    def nodes(self) -> tuple[Node, ...]:
        """All nodes, controllers first."""
        if self.mode is Mode.COMBINED:
            both = (Role.BROKER, Role.CONTROLLER)
            return tuple(Node(f"n{i}", i, both) for i in range(1, self.brokers + 1))
        controllers = tuple(
            Node(f"c{i}", FIRST_CONTROLLER_ID + i - 1, (Role.CONTROLLER,))
            for i in range(1, self.controllers + 1)
        )
        return controllers + tuple(Node(f"b{i}", i, (Role.BROKER,)) for i in range(1, self.brokers + 1))

    def problems(self) -> list[str]:
        """What is wrong with it, all at once; empty if nothing is."""
        found = [
            f"{name} is {count}, expected 1 to {NODES_MAX}"
            for name, count in (("controllers", self.controllers), ("brokers", self.brokers))
            if not 1 <= count <= NODES_MAX
        ]
        if self.mode is Mode.COMBINED and self.controllers != self.brokers:
            found.append(
                f"combined mode has as many controllers as brokers, got {self.controllers} and {self.brokers}"
            )
        return found
