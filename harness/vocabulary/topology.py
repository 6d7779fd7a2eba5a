"""Topologies: the nodes of a cluster, and Kafka's configuration on them."""

from enum import StrEnum

import msgspec

FIRST_CONTROLLER_ID = 101
"""Isolated controllers are numbered from here and brokers from 1, so that their ids differ."""
NODES_MAX = 5
LOG_DIRS_MAX = 4


class Among(StrEnum):
    """The nodes that take part in a fault of the network."""

    ALL = "all"
    CONTROLLERS = "controllers"
    BROKERS = "brokers"


class Mode(StrEnum):
    """Whether each node is both broker and controller."""

    COMBINED = "combined"
    ISOLATED = "isolated"


class Quorum(StrEnum):
    """Where the set of voters is stored: in the configuration, or in the metadata log (KIP-853)."""

    STATIC = "static"
    DYNAMIC = "dynamic"


class Role(StrEnum):
    """Values of Kafka's property ``process.roles``."""

    BROKER = "broker"
    CONTROLLER = "controller"


class Node(msgspec.Struct, frozen=True):
    """One Kafka process: its name in the harness and its ``node.id``."""

    name: str
    id: int
    roles: tuple[Role, ...]

    @property
    def is_broker(self) -> bool:
        """Whether it has the role broker, so that clients can connect to it."""
        return Role.BROKER in self.roles

    @property
    def is_controller(self) -> bool:
        """Whether it has the role controller, so that it is or can become a voter."""
        return Role.CONTROLLER in self.roles


class NodeFile(msgspec.Struct, frozen=True):
    """A file of the host that is mounted read-only into every node, for agents and debuggers."""

    source: str
    destination: str


class DiskKind(StrEnum):
    """The kind of storage that holds the nodes' data directories."""

    FOLDER = "folder"
    """A folder of the run."""
    LOOP_EXT4 = "loop-ext4"
    """A separate file system for each node, in a file of the run's folder; it can lose power and fail."""
    LOOP_XFS = "loop-xfs"


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
        node_files: files of the host that are mounted into every node.
        initial_voters: how many controllers, the first ones, are voters from the beginning (dynamic quorum);
            the others begin as observers. None: all.
        standalone: whether the first controller alone forms the quorum (``format --standalone``).
        node_config: node name to properties that override all others on that node.
        start_version: the Kafka version that nodes start with, before an `Upgrade`; None: the run's.
        node_versions: node name to the Kafka version that this node starts with, instead of `start_version`.
        node_jvm_options: node name to further options of this node's JVM.
        disk: the kind of disk of the data directories.
        log_dirs: number of log directories per node, each on a separate disk; the first has the metadata log.
    """

    mode: Mode = Mode.COMBINED
    controllers: int = 3
    brokers: int = 3
    quorum: Quorum = Quorum.DYNAMIC
    features: dict[str, int] = {}
    config: dict[str, str] = {}
    jvm_options: tuple[str, ...] = ()
    node_files: tuple[NodeFile, ...] = ()
    initial_voters: int | None = None
    standalone: bool = False
    node_config: dict[str, dict[str, str]] = {}
    start_version: str | None = None
    node_versions: dict[str, str] = {}
    node_jvm_options: dict[str, tuple[str, ...]] = {}
    disk: DiskKind = DiskKind.FOLDER
    log_dirs: int = 1

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

    def voters(self) -> tuple[Node, ...]:
        """The controllers that are voters from the beginning."""
        controllers = tuple(node for node in self.nodes() if node.is_controller)
        return controllers[: 1 if self.standalone else self.initial_voters]

    def version_of(self, node: str, version: str) -> str:
        """The version of Kafka that a node starts with, given the run's version."""
        return self.node_versions.get(node, self.start_version or version)

    def first_versions(self, version: str) -> dict[str, str]:
        """Node name to the version of Kafka that the node starts with, given the run's version."""
        return {node.name: self.version_of(node.name, version) for node in self.nodes()}

    def problems(self) -> list[str]:
        """All errors in this topology; empty if there are none."""
        found = [
            f"{name} is {count}, expected 1 to {NODES_MAX}"
            for name, count in (("controllers", self.controllers), ("brokers", self.brokers))
            if not 1 <= count <= NODES_MAX
        ]
        if self.mode is Mode.COMBINED and self.controllers != self.brokers:
            found.append(
                f"combined mode has as many controllers as brokers, got {self.controllers} and {self.brokers}"
            )
        if not 1 <= self.log_dirs <= LOG_DIRS_MAX:
            found.append(f"log_dirs is {self.log_dirs}, expected 1 to {LOG_DIRS_MAX}")
        return found + self._quorum_problems() + self._name_problems()

    def _quorum_problems(self) -> list[str]:
        found: list[str] = []
        if self.initial_voters is not None and self.standalone:
            found.append("a standalone quorum has one voter at first, so initial_voters can't be given too")
        if self.quorum is Quorum.STATIC and (self.initial_voters is not None or self.standalone):
            found.append(
                "all controllers vote in a static quorum; initial_voters and standalone need a dynamic one"
            )
        if self.initial_voters is not None and not 1 <= self.initial_voters <= self.controllers:
            found.append(f"initial_voters is {self.initial_voters}, expected 1 to {self.controllers}")
        return found

    def _name_problems(self) -> list[str]:
        names = [node.name for node in self.nodes()]
        return [
            f"{attribute} names {name}, there are {', '.join(names)}"
            for attribute, given in (
                ("node_config", self.node_config.keys()),
                ("node_versions", self.node_versions.keys()),
                ("node_jvm_options", self.node_jvm_options.keys()),
            )
            for name in sorted(given - set(names))
        ]
