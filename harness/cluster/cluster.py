"""A cluster in a run's folder: starts it, returns its nodes, and removes it completely."""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import docker
import msgspec
from docker.types.daemon import CancellableStream

from harness.cluster.addresses import reserved_subnet
from harness.cluster.composing import COMPOSE_FILE, compose_up
from harness.cluster.containers import (
    FOLDER_LABEL,
    KEPT_LABEL,
    OWNER_LABEL,
    RUN_LABEL,
    NodeContainers,
    RunContainers,
    in_parallel,
    subnets_in_use,
)
from harness.cluster.homes import PROPERTIES_FILE, NodeHome
from harness.cluster.loop_disks import lacking, make_disk, unmount_below
from harness.cluster.rendering import (
    CLIENT_PORT,
    CONTROLLER_PORT,
    OBSERVE_PORT,
    Layout,
    disk_suffixes,
    format_arguments,
    new_layout,
    problems_with,
    render_compose,
    render_properties,
)
from harness.errors import KrucibleError, UsageError, disk_errors_named
from harness.record.ownership import this_process
from harness.vocabulary.topology import DiskKind, Node, Topology

DESCRIPTION_FILE = "cluster.json"


class Plan(msgspec.Struct, frozen=True):
    """The cluster to start.

    Attributes:
        run: id of the run.
        folder: the run's folder, which exists.
        topology: the cluster.
        version: the run's version of Kafka.
        kafka_image: reference of the image that runs Kafka.
        holder_image: reference of the image that owns the network namespaces.
        kept: whether the cluster stays when the harness ends.
        images_by_version: references of images of the other versions of Kafka that nodes have at any time.
    """

    run: str
    folder: Path
    topology: Topology
    version: str
    kafka_image: str
    holder_image: str
    kept: bool = False
    images_by_version: dict[str, str] = {}


class Description(msgspec.Struct, frozen=True):
    """The description of a cluster in ``cluster.json``, by which it is found and used again.

    Attributes:
        run: id of the run.
        version: the run's version of Kafka.
        topology: the cluster.
        layout: its addresses and ids.
        images: references of Kafka's images, by version.
    """

    run: str
    version: str
    topology: Topology
    layout: Layout
    images: dict[str, str] = {}


class Cluster:
    """A cluster whose containers have been started; Kafka on them may not be ready yet."""

    def __init__(self, client: docker.DockerClient, description: Description, folder: Path) -> None:
        self.description = description
        self.folder = folder
        self._client = client
        self._containers = RunContainers(client, description.run)
        self.containers: Mapping[str, NodeContainers] = self._containers.nodes()

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes of the cluster."""
        return self.description.topology.nodes()

    @property
    def version(self) -> str:
        """The run's version of Kafka."""
        return self.description.version

    @property
    def images(self) -> Mapping[str, str]:
        """References of Kafka's images, by version."""
        return self.description.images

    @property
    def cluster_id(self) -> str:
        """Kafka's cluster id (``cluster.id`` in meta.properties)."""
        return self.description.layout.cluster_id

    @property
    def addresses(self) -> dict[str, str]:
        """Node name to address."""
        layout, topology = self.description.layout, self.description.topology
        return {node.name: layout.address(topology, node) for node in self.nodes}

    @property
    def bootstrap(self) -> list[str]:
        """The brokers' CLIENT listeners, ``host:port``."""
        return [f"{self.addresses[node.name]}:{CLIENT_PORT}" for node in self.nodes if node.is_broker]

    @property
    def observe_listeners(self) -> dict[str, tuple[str, int]]:
        """Broker name to its OBSERVE listener."""
        return {n.name: (self.addresses[n.name], OBSERVE_PORT) for n in self.nodes if n.is_broker}

    @property
    def controller_listeners(self) -> dict[str, tuple[str, int]]:
        """Controller name to its CONTROLLER listener."""
        return {n.name: (self.addresses[n.name], CONTROLLER_PORT) for n in self.nodes if n.is_controller}

    @property
    def ended(self) -> frozenset[str]:
        """Names of nodes that currently have no process.

        Raises:
            EngineError: if the engine refuses.
        """
        return self._containers.ended()

    def changes(self) -> "CancellableStream[str]":
        """A stream of Docker's events of the nodes' processes; it continues until it is closed.

        Raises:
            EngineError: if the engine refuses.
        """
        return self._containers.changes()

    def disk(self, node: Node) -> Path:
        """Path of the node's first log directory on the host."""
        return self.disks(node)[0]

    def disks(self, node: Node) -> tuple[Path, ...]:
        """Paths of the node's log directories on the host."""
        return _disks(self.folder, self.description.topology, node)

    def home(self, node: Node) -> NodeHome:
        """The node's files on the host."""
        return _home(self.folder, self.description.topology, node)

    def set_properties(self, node: Node, overrides: Mapping[str, str | None]) -> None:
        """Change a node's server.properties for its next start; None takes a property out.

        Raises:
            OSError: the file can't be read or written.
        """
        self.home(node).set_properties(overrides)

    def set_format_arguments(self, node: Node, arguments: Sequence[str]) -> None:
        """Change the arguments that format a node's disk if it is empty at its next start.

        Raises:
            OSError: the file can't be written.
        """
        self.home(node).set_format_arguments(arguments)

    def remove(self) -> None:
        """Remove all containers, networks and disks.

        Raises:
            EngineError: if the engine refuses.
        """
        remove_run(self._client, self.description.run, self.folder)

    def leftovers(self) -> list[str]:
        """Names of containers, networks and volumes that still exist."""
        return self._containers.leftovers()


def start_cluster(client: docker.DockerClient, plan: Plan, binary: tuple[str, ...]) -> Cluster:
    """Write the run's files and start its containers.

    Args:
        client: the engine.
        plan: what to start.
        binary: the compose command.

    Raises:
        UsageError: if the version or this host can't do what the topology asks.
        EngineError: if the engine or compose refuses.
    """
    problems = problems_with(plan.topology, plan.version)
    lack = lacking(plan.topology.disk)
    problems += [f"disks of kind {plan.topology.disk} are not available: {lack}"] if lack else []
    if problems:
        raise UsageError(
            "the topology does not fit", got="; ".join(problems), next_step="krucible run --help"
        )
    with reserved_subnet(subnets_in_use(client)) as subnet:
        layout = new_layout(plan.run, subnet, plan.topology)
        images = plan.images_by_version | {plan.version: plan.kafka_image}
        description = Description(plan.run, plan.version, plan.topology, layout, images)
        _write_files(plan, description)
        compose_up(plan.folder, layout.project, binary)
    return Cluster(client, description, plan.folder)


def remove_run(client: docker.DockerClient, run: str, folder: Path) -> None:
    """Remove all containers, disks and networks of a run.

    Raises:
        EngineError: if Docker refuses.
        KrucibleError: if a disk can't be removed.
    """

    def remove_disks() -> None:
        disks = folder / "disks"
        if disks.exists():
            unmount_below(disks)
            with disk_errors_named():
                in_parallel(shutil.rmtree, [disk for disk in disks.iterdir() if disk.is_dir()])
                shutil.rmtree(disks)

    RunContainers(client, run).remove(before_network=remove_disks)


def find_cluster(client: docker.DockerClient, folder: Path) -> Cluster:
    """Find the cluster that was started in a folder.

    Raises:
        KrucibleError: if the folder describes none.
    """
    return Cluster(client, describe(folder), folder)


def describe(folder: Path) -> Description:
    """Read the description of the cluster that was started in a folder.

    Raises:
        KrucibleError: if the folder describes none.
    """
    path = folder / DESCRIPTION_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Description)
    except (OSError, msgspec.MsgspecError) as error:
        raise KrucibleError(
            "this folder describes no cluster",
            got=str(error),
            where=str(path),
            next_step="krucible cluster status",
        ) from error


def make_mount_points(folder: Path, topology: Topology) -> None:
    """Make empty folders in place of the disks, so that users can start the cluster from its compose file.

    Folders that Docker makes would belong to root, but Kafka runs as the user of the harness.

    Raises:
        OSError: they can't be made.
    """
    for node in topology.nodes():
        for disk in _disks(folder, topology, node):
            disk.mkdir(parents=True, exist_ok=True)


def _write_files(plan: Plan, description: Description) -> None:
    (plan.folder / DESCRIPTION_FILE).write_bytes(msgspec.json.encode(description))
    for node in plan.topology.nodes():
        home = _home(plan.folder, plan.topology, node)
        home.folder.mkdir(parents=True)
        for disk in home.disks:
            disk.mkdir(parents=True)
            if plan.topology.disk is not DiskKind.FOLDER:
                make_disk(disk, plan.topology.disk)
        version = plan.topology.version_of(node.name, plan.version)
        properties = render_properties(plan.topology, description.layout, node, version)
        (home.folder / PROPERTIES_FILE).write_text(properties)
        home.set_format_arguments(format_arguments(plan.topology, description.layout, node))
    compose = render_compose(
        plan.topology,
        description.layout,
        kafka_images={
            name: description.images[version]
            for name, version in plan.topology.first_versions(plan.version).items()
        },
        holder_image=plan.holder_image,
        user=f"{os.getuid()}:{os.getgid()}",
        labels=_labels(plan),
    )
    (plan.folder / COMPOSE_FILE).write_text(compose)


def _home(folder: Path, topology: Topology, node: Node) -> NodeHome:
    first, *others = _disks(folder, topology, node)
    return NodeHome(folder / "nodes" / node.name, first, tuple(others))


def _disks(folder: Path, topology: Topology, node: Node) -> tuple[Path, ...]:
    return tuple(folder / "disks" / f"{node.name}{suffix}" for suffix in disk_suffixes(topology))


def _labels(plan: Plan) -> dict[str, str]:
    return {
        RUN_LABEL: plan.run,
        OWNER_LABEL: this_process(os.getpid()).label(),
        FOLDER_LABEL: str(plan.folder.resolve()),
        KEPT_LABEL: str(plan.kept).lower(),
    }
