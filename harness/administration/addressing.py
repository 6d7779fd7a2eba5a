"""The nodes that an admin command asks: listeners of a krucible cluster, or addresses from the user."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

import click
import msgspec
from kafka.protocol.metadata import MetadataRequest, MetadataResponse

from harness.cluster.cluster import Cluster, find_cluster
from harness.cluster.engine import connect, engine_errors_named
from harness.cluster.leftovers import Leftover, leftovers
from harness.errors import KrucibleError, UsageError, disk_errors_named
from harness.kafka.wire import Connection, WireError, answers

ANSWER_LIMIT_S = 3.0
PORT_MAX = 65_535

Address = tuple[str, int]

P = ParamSpec("P")
R = TypeVar("R")


class Reach(msgspec.Struct, frozen=True):
    """Listeners of one cluster that answered just now; there is at least one.

    Attributes:
        brokers: listeners of brokers: OBSERVE for a krucible cluster, the advertised ones for others.
        controllers: listeners of controllers; empty if they are unknown.
        folder: the cluster's folder; None if krucible did not start the cluster.
        names: a name for each listener: the node's name, or ``host:port``.
        ids: ``node.id`` by address, if it is known.
    """

    brokers: tuple[Address, ...]
    controllers: tuple[Address, ...]
    folder: Path | None
    names: dict[Address, str]
    ids: dict[Address, int]

    def a_broker(self) -> Address:
        """The first broker.

        Raises:
            KrucibleError: if none answers.
        """
        if not self.brokers:
            raise KrucibleError(
                "no broker answers",
                expected="a broker, which forwards admin requests to the controller",
                where=str(self.folder or ", ".join(self.names.values())),
                next_step="krucible cluster status",
            )
        return self.brokers[0]


class Addresses(click.ParamType[tuple[Address, ...]]):
    """``HOST:PORT[,HOST:PORT]``; an IPv6 address is in brackets."""

    name = "HOST:PORT[,HOST:PORT]"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[Address, ...]:
        """Read every address."""
        found = []
        for text in str(value).split(","):
            host, _, port = text.strip().rpartition(":")
            if not host or not (port.isascii() and port.isdigit() and 0 < int(port[:6]) <= PORT_MAX):
                self.fail(f"got {text!r}, expected HOST:PORT", param, ctx)
            found.append((host.removeprefix("[").removesuffix("]"), int(port)))
        return tuple(found)


class _NamedNodes(NamedTuple):
    """The values of both options."""

    bootstrap_server: tuple[Address, ...] | None
    cluster: Path | None


_cluster_option = click.option(
    "--cluster",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Folder of a krucible cluster; without both options, the only one that is running.",
)
_bootstrap_option = click.option(
    "--bootstrap-server", type=Addresses(), help="Brokers or controllers of any cluster."
)


def reach_options(function: Callable[Concatenate[Reach, P], R]) -> Callable[P, R]:
    """``--bootstrap-server`` and ``--cluster``; the command gets a `Reach` as its first argument."""

    @wraps(function)
    def reaching(*args: P.args, **given: P.kwargs) -> R:
        values: Any = {name: given.pop(name) for name in ("bootstrap_server", "cluster")}
        named = _NamedNodes(**values)
        return function(find_reach(named.bootstrap_server, named.cluster), *args, **given)

    return _bootstrap_option(_cluster_option(reaching))


def find_reach(named: Sequence[Address] | None, folder: Path | None) -> Reach:
    """Find the nodes to ask: the given addresses, the cluster in the folder, or the only running cluster.

    Raises:
        UsageError: if both are given, or neither and there is not exactly one cluster.
        EngineError: if Docker is needed and does not answer.
        KrucibleError: if no node answers, or the folder describes no cluster.
    """
    if named and folder:
        raise UsageError(
            "--bootstrap-server and --cluster exclude each other",
            expected="one of them, or neither if exactly one krucible cluster is running",
            next_step="drop one of them",
        )
    return _named(named) if named else _ours(folder)


def listeners(cluster: Cluster) -> Reach:
    """The listeners of a krucible cluster that answer: OBSERVE, which no fault affects, and CONTROLLER.

    Raises:
        KrucibleError: if none does.
    """
    brokers, controllers = cluster.observe_listeners, cluster.controller_listeners
    alive = _answering((*brokers.values(), *controllers.values()), str(cluster.folder))
    ids = {node.name: node.id for node in cluster.nodes}
    places = [(name, a) for own in (brokers, controllers) for name, a in own.items() if a in alive]
    return Reach(
        brokers=tuple(address for address in brokers.values() if address in alive),
        controllers=tuple(address for address in controllers.values() if address in alive),
        folder=cluster.folder,
        names={address: name for name, address in places},
        ids={address: ids[name] for name, address in places},
    )


def _ours(folder: Path | None) -> Reach:
    with disk_errors_named(), engine_errors_named(), closing(connect()) as client:
        chosen = _only(leftovers(client)) if folder is None else folder
        return listeners(find_cluster(client, chosen))


def _only(found: Sequence[Leftover]) -> Path:
    """The folder of the only cluster in use."""
    up = [leftover for leftover in found if leftover.live or leftover.kept]
    if len(up) != 1:
        raise UsageError(
            "no cluster is named",
            got="several krucible clusters are running" if up else "no krucible cluster is running",
            expected="\n            ".join(f"--cluster {leftover.folder}" for leftover in up)
            or "a running krucible cluster, or --bootstrap-server HOST:PORT",
            next_step="krucible cluster status" if up else "krucible cluster up",
        )
    return up[0].folder


def _named(named: Sequence[Address]) -> Reach:
    """Every broker of the cluster at these addresses, and the controllers among the addresses."""
    where = ", ".join(map(_text, named))
    alive = _answering(named, where)
    advertised = {address: _advertised(address) for address in alive}
    brokers = {address: number for found in advertised.values() for address, number in (found or {}).items()}
    others = tuple(address for address, found in advertised.items() if found is None)
    reachable = _answering((*brokers, *alive), where)
    return Reach(
        # If the advertised listeners can't be reached from here, the given addresses can.
        brokers=tuple(a for a in brokers if a in reachable) or tuple(a for a in alive if a not in others),
        controllers=others,
        folder=None,
        names={address: _text(address) for address in reachable},
        ids={address: number for address, number in brokers.items() if address in reachable},
    )


def _advertised(address: Address) -> dict[Address, int] | None:
    """Brokers by their advertised listeners according to a node; None from a controller (no Metadata)."""
    try:
        with Connection(*address, ANSWER_LIMIT_S) as connection:
            if not connection.supports(MetadataRequest):
                return None
            request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
            answer = connection.ask(request, MetadataResponse)
    except WireError:  # it answered a moment ago, so it stays in the list
        return {}
    return {(broker.host, broker.port): broker.node_id for broker in answer.brokers}


def _answering(addresses: Sequence[Address], where: str) -> tuple[Address, ...]:
    """The addresses that answer.  All are asked at once, so several paused nodes take no longer than one.

    Raises:
        KrucibleError: if none does.
    """
    distinct = tuple(dict.fromkeys(addresses))
    with ThreadPoolExecutor(max_workers=len(distinct)) as pool:
        alive = pool.map(_answers, distinct)
        found = tuple(address for address, answered in zip(distinct, alive, strict=True) if answered)
    if not found:
        raise KrucibleError(
            "no node answers",
            got=f"no answer, or a refusal, from {', '.join(map(_text, distinct))}",
            expected=f"an answer to ApiVersions within {ANSWER_LIMIT_S:.0f} s",
            where=where,
            next_step="krucible cluster status",
        )
    return found


def _answers(address: Address) -> bool:
    return answers(*address, ANSWER_LIMIT_S)


def _text(address: Address) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
