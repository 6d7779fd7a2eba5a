"""The nodes that ``krucible quorum`` asks, and the ids and endpoints that a change of voters needs."""

import time
from contextlib import closing
from typing import NamedTuple

from checkers.history.units import NS_PER_MS
from harness.administration.addressing import Reach
from harness.administration.quorum_leader import FoundLeader, describe_quorum, find_leader
from harness.administration.quorum_view import QuorumView, view_of
from harness.administration.voters import VoterEndpoint
from harness.cluster.cluster import find_cluster
from harness.cluster.engine import connect, engine_errors_named
from harness.errors import KrucibleError, UsageError, disk_errors_named
from harness.kafka.wire import WireError

Address = tuple[str, int]


class NodeView(NamedTuple):
    """The node that answered, and its view of the quorum."""

    address: Address
    name: str
    view: QuorumView


def request_view(reach: Reach, controller: int | None, timeout_ms: int) -> NodeView:
    """Request the leader's view of the quorum, through a broker if no controller is reachable.

    Raises:
        KrucibleError: if no node reported it.
        UsageError: if there is no such controller.
    """
    known = {reach.ids[address]: address for address in reach.controllers if address in reach.ids}
    if controller is None:
        found = find_leader(reach.controllers or reach.brokers, timeout_ms)
    else:
        found = _one(_place_of(controller, known, reach, timeout_ms), timeout_ms)
    if isinstance(found, dict):
        raise KrucibleError(
            "no node reported the quorum",
            got="\n            ".join(f"{_name(reach, place)}: {error}" for place, error in found.items()),
            expected=f"a leader that answers within {timeout_ms} ms",
            next_step="krucible quorum describe, which asks all controllers"
            if controller is not None
            else "krucible cluster status",
        )
    now_ms = time.time_ns() // NS_PER_MS
    return NodeView(found.address, _name(reach, found.address), view_of(found.answer, known, now_ms))


def _one(address: Address, timeout_ms: int) -> FoundLeader | dict[Address, str]:
    """Request the view of one controller. If it fails, return the error by address."""
    try:
        answer = describe_quorum(address, timeout_ms)
    except WireError as error:
        return {address: str(error)}
    if answer.error == 0:
        return FoundLeader(address, answer)
    return {address: "it is not the leader (NOT_LEADER_OR_FOLLOWER)"}


def _place_of(controller: int, known: dict[int, Address], reach: Reach, timeout_ms: int) -> Address:
    """Return the address of a controller, from the cluster's folder or from any controller.

    Raises:
        UsageError: if no node reports it.
    """
    if controller not in known:
        for address in reach.controllers:
            try:
                known = {**(describe_quorum(address, timeout_ms).controllers or {}), **known}
            except WireError:  # the next controller may report it
                continue
    if controller not in known:
        raise UsageError(
            f"the address of controller {controller} is unknown",
            expected=f"--controller with one of {', '.join(map(str, sorted(known)))}"
            if known
            else "a node that reports the controllers: no controllers are known",
            next_step="drop --controller, or name the controller's address with --bootstrap-server",
        )
    return known[controller]


def find_voter(reach: Reach, view: QuorumView, node_id: int) -> tuple[str | None, tuple[VoterEndpoint, ...]]:
    """Directory id and endpoints of a node, from its disk or from the leader's report of observers."""
    observer = next((each for each in view.observers if each.id == node_id), None)
    reported = (observer.directory_id, observer.endpoints) if observer else (None, ())
    if reach.folder is None:
        return reported
    with disk_errors_named(), engine_errors_named(), closing(connect()) as client:
        cluster = find_cluster(client, reach.folder)
        node = next((each for each in cluster.nodes if each.id == node_id), None)
        if node is None or node.name not in cluster.controller_listeners:
            return reported
        endpoint = (listener_of(view), *cluster.controller_listeners[node.name])
        return cluster.home(node).directory_id() or reported[0], (endpoint,)


def listener_of(view: QuorumView) -> str:
    """Name of the listener at which voters reach each other."""
    return next((each.endpoints[0][0] for each in view.voters if each.endpoints), "CONTROLLER")


def _name(reach: Reach, address: Address) -> str:
    return reach.names.get(address, f"{address[0]}:{address[1]}")
