"""Renders a topology as the files of a run's folder: a compose file and each node's server.properties."""

import base64
import json
import uuid
from collections.abc import Mapping
from importlib import resources
from ipaddress import IPv4Network

import jinja2
import msgspec

from harness.cluster.homes import PROPERTIES_FILE
from harness.vocabulary.topology import Node, Quorum, Topology
from harness.vocabulary.version import FIRST_DYNAMIC_QUORUM, parse_version

OBSERVE_PORT = 9090
REPLICATION_PORT = 9091
CLIENT_PORT = 9092
CONTROLLER_PORT = 9093

DATA_AT = "/var/lib/kafka/data"
"""Path of a node's first log directory; the others have the same suffixes here and on the host."""
HOME_AT = "/etc/krucible"
"""Path of a node's own folder of the run, which is read-only for the node."""

_FIRST_ADDRESS = 11
"""Host part of the first node's address; lower ones are reserved for the bridge and tools."""

DEFAULTS = {
    # If this is on, a leftover client creates deleted topics again.
    "auto.create.topics.enable": "false",
    # A killed broker is fenced after 3 s instead of 9, so that faults of seconds show failover.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    # The same for followers that no longer fetch (default 30 s).
    "replica.lag.time.max.ms": "6000",
    # A broker that starts without access to a majority must wait until the fault ends, and not exit.
    "initial.broker.registration.timeout.ms": "180000",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "4",
    "transaction.state.log.num.partitions": "4",
    "num.network.threads": "2",
    "num.io.threads": "4",
    "log.cleaner.dedupe.buffer.size": "16777216",
}


class Layout(msgspec.Struct, frozen=True):
    """Addresses and ids of the nodes of one run.

    Attributes:
        run: the run's id.
        project: name of the compose project, which is the prefix of every container's name.
        subnet: the run's /24.
        cluster_id: Kafka's cluster id, base64.
        directory_ids: node name to the id of its metadata directory, base64.
    """

    run: str
    project: str
    subnet: str
    cluster_id: str
    directory_ids: dict[str, str]

    def address(self, topology: Topology, node: Node) -> str:
        """The node's fixed address."""
        position = topology.nodes().index(node)
        return str(IPv4Network(self.subnet)[_FIRST_ADDRESS + position])


def kafka_uuid() -> str:
    """A random id in Kafka's base64 form, which ``format`` can't mistake for an option."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def new_layout(run: str, subnet: str, topology: Topology) -> Layout:
    """Draw the ids of a new cluster."""
    return Layout(
        run=run,
        project=f"krucible-{run}",
        subnet=subnet,
        cluster_id=kafka_uuid(),
        directory_ids={node.name: kafka_uuid() for node in topology.nodes()},
    )


def render_properties(topology: Topology, layout: Layout, node: Node, version: str) -> str:
    """The node's server.properties.

    Args:
        topology: the cluster.
        layout: its addresses and ids.
        node: the node.
        version: version of Kafka on that node.

    Raises:
        VersionShapeError: if `version` is not a Kafka version.
    """
    address = layout.address(topology, node)
    listeners = _listeners(node)
    return _template("server.properties.j2").render(
        node=node,
        listeners=[f"{name}://{address}:{port}" for name, port in listeners],
        advertised=_advertised(topology, listeners, address, version),
        quorum=_quorum_config(topology, layout),
        log_dirs=[f"{DATA_AT}{suffix}" for suffix in disk_suffixes(topology)],
        config=_defaults_for(topology) | topology.config | topology.node_config.get(node.name, {}),
    )


def render_compose(
    topology: Topology,
    layout: Layout,
    *,
    kafka_images: Mapping[str, str],
    holder_image: str,
    user: str,
    labels: dict[str, str],
) -> str:
    """The run's compose file; paths in it are relative to the run's folder.

    Args:
        topology: the cluster to build.
        layout: its addresses and ids.
        kafka_images: node name to the reference of the image that runs Kafka on it.
        holder_image: reference of the image that owns the network namespaces.
        user: ``uid:gid`` of Kafka's processes, so that the harness can read and remove files on the disks.
        labels: krucible's labels for all containers, networks and volumes.
    """
    nodes = [
        {
            "name": node.name,
            "address": layout.address(topology, node),
            "image": kafka_images[node.name],
            "environment": _environment(topology, layout, node),
        }
        for node in topology.nodes()
    ]
    files = tuple(f"{file.source}:{file.destination}:ro" for file in topology.node_files)
    return _template("cluster.yaml.j2").render(
        project=layout.project,
        subnet=layout.subnet,
        nodes=nodes,
        holder_image=holder_image,
        user=user,
        labels=labels,
        mounts=files,
        home_at=HOME_AT,
        data_at=DATA_AT,
        disk_suffixes=disk_suffixes(topology),
    )


def disk_suffixes(topology: Topology) -> list[str]:
    """Suffixes of the names of a node's disks; the first one is empty."""
    return ["", *(f"-{number}" for number in range(2, topology.log_dirs + 1))]


def problems_with(topology: Topology, version: str) -> list[str]:
    """Every part of this topology that this version does not support; empty if there is none.

    Raises:
        VersionShapeError: if `version`, or that of a node, is not a Kafka version.
    """
    found = topology.problems()
    if topology.quorum is Quorum.DYNAMIC:
        found += [
            f"Kafka {each} has no dynamic quorum (3.9.0 is the first); use a static one"
            for each in sorted({version, *topology.first_versions(version).values()})
            if parse_version(each) < FIRST_DYNAMIC_QUORUM
        ]
    return found


def _template(name: str) -> jinja2.Template:
    # The templates are compose and properties files with krucible's own values.
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)  # noqa: S701 - nothing here is HTML
    environment.filters["literal"] = _literal
    return environment.from_string(resources.files("compose").joinpath(name).read_text())


def _literal(text: str) -> str:
    """Quote a text as YAML so that compose does not change it; a dollar sign would begin a variable."""
    return json.dumps(text).replace("$", "$$")


def _listeners(node: Node) -> list[tuple[str, int]]:
    brokers = [("CLIENT", CLIENT_PORT), ("REPLICATION", REPLICATION_PORT), ("OBSERVE", OBSERVE_PORT)]
    controllers = [("CONTROLLER", CONTROLLER_PORT)]
    return (brokers if node.is_broker else []) + (controllers if node.is_controller else [])


def _advertised(
    topology: Topology, listeners: list[tuple[str, int]], address: str, version: str
) -> list[str]:
    # Up to 3.8 a controller's listener must not be advertised, but a dynamic quorum requires it.
    dynamic = topology.quorum is Quorum.DYNAMIC and parse_version(version) >= FIRST_DYNAMIC_QUORUM
    return [f"{name}://{address}:{port}" for name, port in listeners if name != "CONTROLLER" or dynamic]


def _quorum_config(topology: Topology, layout: Layout) -> dict[str, str]:
    controllers = [node for node in topology.nodes() if node.is_controller]
    endpoints = [f"{layout.address(topology, node)}:{CONTROLLER_PORT}" for node in controllers]
    if topology.quorum is Quorum.DYNAMIC:
        return {"controller.quorum.bootstrap.servers": ",".join(endpoints)}
    voters = (f"{node.id}@{endpoint}" for node, endpoint in zip(controllers, endpoints, strict=True))
    return {"controller.quorum.voters": ",".join(voters)}


def _defaults_for(topology: Topology) -> dict[str, str]:
    copies = min(3, topology.brokers)
    return DEFAULTS | {
        "offsets.topic.replication.factor": str(copies),
        "transaction.state.log.replication.factor": str(copies),
        "transaction.state.log.min.isr": str(min(2, copies)),
        "default.replication.factor": str(copies),
    }


def format_arguments(topology: Topology, layout: Layout, node: Node) -> list[str]:
    """Arguments of StorageTool's ``format`` in addition to the cluster id and the properties."""
    arguments: list[str] = []
    if topology.quorum is Quorum.DYNAMIC:
        arguments = ["--no-initial-controllers"]
        if node in topology.voters():
            arguments = ["--initial-controllers", _initial_controllers(topology, layout)]
            arguments = ["--standalone"] if topology.standalone else arguments
    for feature, level in sorted(topology.features.items()):
        arguments += ["--feature", f"{feature}={level}"]
    return arguments


def _initial_controllers(topology: Topology, layout: Layout) -> str:
    return ",".join(
        f"{node.id}@{layout.address(topology, node)}:{CONTROLLER_PORT}:{layout.directory_ids[node.name]}"
        for node in topology.voters()
    )


def _environment(topology: Topology, layout: Layout, node: Node) -> dict[str, str]:
    return {
        "KRUCIBLE_CLUSTER_ID": layout.cluster_id,
        "KRUCIBLE_PROPERTIES": f"{HOME_AT}/{PROPERTIES_FILE}",
        "KRUCIBLE_JVM_OPTS": " ".join((*topology.jvm_options, *topology.node_jvm_options.get(node.name, ()))),
    }
