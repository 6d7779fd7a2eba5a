"""A cluster is ready when a controller leads and each broker is unfenced and acknowledges a write."""

import time
from collections.abc import Callable

import msgspec

from harness.cluster.cluster import Cluster
from harness.errors import EngineError, KrucibleError
from harness.kafka.answers import TopicAnswer
from harness.kafka.endpoint import Endpoint
from harness.kafka.topics import Address, NewTopic, acknowledges_write, create_topic, delete_topic
from harness.kafka.wire import WireError

READY_TOPIC = "krucible-ready"
READY_BOUND_S = 90.0
_PAUSE_S = 0.05
_LOOK_S = 1.0
"""Time between checks of the containers, which use CPU time of the engine and so of the nodes."""
_ASK_TIMEOUT_S = 1.0


class NotReadyError(KrucibleError):
    """A cluster did not become ready; `harness.run.diagnosis` finds out why.

    Attributes:
        missing: what was still missing at the end of the wait.
        waited_s: how long the harness waited for it, seconds.
    """

    def __init__(self, error: KrucibleError, missing: str, waited_s: float) -> None:
        super().__init__(
            error.what, got=error.got, expected=error.expected, where=error.where, next_step=error.next_step
        )
        self.missing = missing
        self.waited_s = waited_s


class Readiness(msgspec.Struct, frozen=True):
    """When each step was complete, seconds since the wait began; features are the finalized levels."""

    controller_s: float
    brokers_s: float
    write_s: float
    features: dict[str, int]


def await_ready(cluster: Cluster, bound_s: float = READY_BOUND_S) -> Readiness:
    """Wait until the cluster is ready.

    Raises:
        NotReadyError: if it is not ready within the bound, or if a node ended meanwhile; it has the end of
            that node's log.
        EngineError: if the engine does not report the nodes.
    """
    began = time.monotonic()
    missing = ["no node has answered"]
    try:
        return _awaited(cluster, bound_s, began, missing)
    except (EngineError, NotReadyError):
        raise
    except KrucibleError as error:
        raise NotReadyError(error, missing[-1], time.monotonic() - began) from error


def _awaited(cluster: Cluster, bound_s: float, began: float, missing: list[str]) -> Readiness:
    deadline = began + bound_s

    def until(condition: Callable[[], bool], what: str) -> float:
        missing.append(what)
        look_again = time.monotonic() + _LOOK_S
        while not condition():
            if time.monotonic() > look_again:
                _raise_if_a_node_ended(cluster)
                look_again = time.monotonic() + _LOOK_S
            if time.monotonic() > deadline:
                raise _not_ready(cluster, what, bound_s)
            time.sleep(_PAUSE_S)
        return time.monotonic() - began

    controllers = cluster.controller_listeners.values()
    brokers = list(cluster.observe_listeners.values())
    controller_s = until(lambda: any(map(_leads, controllers)), "there is no active controller")
    expected = frozenset(node.id for node in cluster.nodes if node.is_broker)
    brokers_s = until(
        lambda: all(_sees(address, expected) for address in brokers), "not every broker is unfenced"
    )
    missing.append(f"topic {READY_TOPIC} can't be created")
    topic = NewTopic(READY_TOPIC, assignments=tuple((broker,) for broker in sorted(expected)))
    made = create_topic(brokers, topic)
    by_id = {node.id: cluster.observe_listeners[node.name] for node in cluster.nodes if node.is_broker}
    for partition, broker in enumerate(sorted(expected)):
        write = _Write(by_id[broker], made, partition)
        until(write.acknowledged, f"broker {broker} acknowledges no write")
    write_s = time.monotonic() - began
    until(lambda: _deleted(brokers[0]), f"topic {READY_TOPIC} can't be deleted")
    features: dict[str, int] = {}
    until(lambda: _features_reported(brokers[0], features), "no broker reports its features")
    return Readiness(controller_s, brokers_s, write_s, features)


class _Write:
    """A write to one partition that is repeated until it is acknowledged."""

    def __init__(self, address: Address, topic: TopicAnswer, partition: int) -> None:
        self._address = address
        self._topic = topic
        self._partition = partition

    def acknowledged(self) -> bool:
        return acknowledges_write(self._address, self._topic, self._partition, b"ready")


def _leads(address: Address) -> bool:
    endpoint = Endpoint(*address, timeout_s=_ASK_TIMEOUT_S)
    try:
        answer = endpoint.quorum()
    except WireError:
        return False
    finally:
        endpoint.close()
    # Voters are listed before an election is over; only a high watermark shows that there is a leader.
    return answer.error == 0 and answer.high_watermark >= 0


def _sees(address: Address, expected: frozenset[int]) -> bool:
    endpoint = Endpoint(*address, timeout_s=_ASK_TIMEOUT_S)
    try:
        return endpoint.cluster([]).brokers == expected
    except WireError:
        return False
    finally:
        endpoint.close()


def _deleted(address: Address) -> bool:
    try:
        delete_topic(address, READY_TOPIC)
    except WireError:
        return False
    return True


def _features_reported(address: Address, features: dict[str, int]) -> bool:
    """Whether the broker answered; the finalized levels are then in `features`."""
    endpoint = Endpoint(*address, timeout_s=_ASK_TIMEOUT_S)
    try:
        features.update(endpoint.features())
    except WireError:
        return False
    finally:
        endpoint.close()
    return True


def _raise_if_a_node_ended(cluster: Cluster) -> None:
    for name, containers in cluster.containers.items():
        state = containers.state()
        if not state["Running"]:
            raise KrucibleError(
                f"node {name} ended while the cluster was starting",
                got=f"exit code {state['ExitCode']}; its last lines:\n{_last_words(cluster, name)}",
                where=str(cluster.folder),
                next_step="fix the topology or its config, then run again",
            )


def _not_ready(cluster: Cluster, what: str, bound_s: float) -> KrucibleError:
    words = "\n".join(f"{name}: {_last_words(cluster, name, lines=3)}" for name in cluster.containers)
    return KrucibleError(
        f"the cluster did not become ready within {bound_s:.0f} s: {what}",
        got=f"the nodes' last lines:\n{words}",
        where=str(cluster.folder),
        next_step="try again with fewer nodes or on a faster machine; krucible doctor",
    )


def _last_words(cluster: Cluster, name: str, lines: int = 8) -> str:
    return "\n".join(cluster.containers[name].logs().decode(errors="replace").splitlines()[-lines:])
