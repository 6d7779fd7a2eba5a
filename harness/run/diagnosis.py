"""Finds out why a cluster did not become ready: processes, logs, answers and files of its nodes."""

import os
import re
from collections.abc import Iterator, Mapping

import msgspec

from checkers.history.runner import DeathSeen, StartSeen
from harness.cluster.cluster import Cluster
from harness.evidence.node_logs import findings
from harness.kafka.endpoint import Endpoint
from harness.kafka.wire import WireError
from harness.observers.quorum_state import read_quorum_state
from harness.run.readiness import NotReadyError

_ASK_TIMEOUT_S = 1.5
_COMPLAINTS_MAX = 5
_COMPLAINT_CHARACTERS_MAX = 300
_ENDED_BY_SOMEBODY = frozenset({0, 125, 126, 127, 137, 143})
"""Exit codes of a process that was killed or stopped, or that the engine could not run."""
_TRUNCATED = re.compile(r"[Tt]runcated to offset\D*(?P<offset>\d+)")
_FATAL = re.compile(r"^\S+ FATAL\s|Exiting Kafka|Encountered fatal fault|Exiting due to", re.MULTILINE)
_OF_THE_HOST = (
    (re.compile(r"OutOfMemoryError|insufficient memory for the Java|Cannot allocate memory"), "no memory"),
    (re.compile(r"No space left on device|Disk quota exceeded"), "the disk is full"),
    (re.compile(r"BindException|Address already in use"), "a port is taken"),
    (re.compile(r"Read-only file system|AccessDeniedException"), "a disk can't be written to"),
    (re.compile(r"ConfigException|requirement failed|Invalid config"), "its configuration is refused"),
)
"""Lines of a node's log that show a cause outside of Kafka."""


class NodeReport(msgspec.Struct, frozen=True, kw_only=True):
    """The report of one node of a failed start.

    Attributes:
        status: status of its container, as Docker reports it.
        exit_code: exit code of its process, if it has ended.
        out_of_memory: whether the kernel killed it for lack of memory.
        quorum: a controller's answer to DescribeQuorum, or why there is none.
        quorum_state: content of its ``quorum-state`` file.
        brokers: ids of the brokers that it reports as registered and unfenced, or why there is no answer.
        truncated_to: lowest offset to which it truncated its metadata log, according to its log.
        fatal: the line by which it logged that it exits.
        complaints: the last WARN, ERROR and FATAL lines of its log.
    """

    status: str
    exit_code: int | None = None
    out_of_memory: bool = False
    quorum: dict[str, object] | str | None = None
    quorum_state: dict[str, object] | None = None
    brokers: tuple[int, ...] | str | None = None
    truncated_to: int | None = None
    fatal: str | None = None
    complaints: tuple[str, ...] = ()


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """Why a start failed.

    Attributes:
        missing: what was still missing at the end of the wait; ``waited_for`` in the file.
        waited_s: how long the harness waited for it, seconds.
        load_per_cpu: the host's load average of one minute over its CPUs.
        sentences: findings, the likeliest cause first.
        host: cause on the host; None if the cause is in the cluster.
        nodes: what each node reported.
    """

    missing: str = msgspec.field(name="waited_for")
    waited_s: float
    load_per_cpu: float
    sentences: tuple[str, ...]
    host: str | None
    nodes: dict[str, NodeReport]

    def as_observation(self) -> StartSeen:
        """The record of it for the history."""
        return StartSeen(
            ready=False,
            missing=self.missing,
            took_s=self.waited_s,
            load_per_cpu=self.load_per_cpu,
            sentences=self.sentences,
            died=tuple(
                DeathSeen(name, node.exit_code, node.fatal)
                for name, node in self.nodes.items()
                if node.exit_code is not None and node.fatal is not None
            ),
        )


def diagnose(cluster: Cluster, error: NotReadyError, logs: Mapping[str, str]) -> Diagnosis:
    """Find out why a cluster did not become ready.

    Args:
        cluster: the cluster, which still exists.
        error: what was still missing at the end of the wait, and how long it was awaited.
        logs: the nodes' logs by their names.

    Raises:
        EngineError: Docker does not report its containers.
    """
    nodes = {node.name: _node_report(cluster, node.name, logs.get(node.name, "")) for node in cluster.nodes}
    ids = {node.name: node.id for node in cluster.nodes if node.is_broker}
    return Diagnosis(
        missing=error.missing,
        waited_s=round(error.waited_s, 1),
        load_per_cpu=round(os.getloadavg()[0] / (os.cpu_count() or 1), 1),
        sentences=(*sentences(nodes, ids), error.missing),
        host=of_host(nodes, logs),
        nodes=nodes,
    )


def sentences(nodes: Mapping[str, NodeReport], brokers: Mapping[str, int]) -> Iterator[str]:
    """Findings about a failed start, the likeliest cause first.

    Args:
        nodes: what each node reported, by its name.
        brokers: ids of the brokers, by their names.
    """
    unseen = _unseen(nodes, brokers)
    for name, node in nodes.items():
        if node.exit_code is not None:
            yield f"{name} ended with exit code {node.exit_code}{f': {node.fatal}' if node.fatal else ''}"
    for name, node in nodes.items():
        if node.truncated_to is not None:
            then = " and was not unfenced" if name in unseen else ""
            yield f"{name} truncated its metadata log to offset {node.truncated_to}{then}"
    if unseen:
        yield f"not unfenced according to any node: {', '.join(unseen)}"
    leads = [name for name, node in nodes.items() if isinstance(node.quorum, dict)]
    asked = [name for name, node in nodes.items() if node.quorum is not None]
    if asked and not leads:
        yield f"none of the controllers {', '.join(asked)} leads"


def of_host(nodes: Mapping[str, NodeReport], logs: Mapping[str, str]) -> str | None:
    """Cause on the host or in the nodes' configuration; None if the cause is another one."""
    for name, node in nodes.items():
        if node.out_of_memory:
            return f"{name} was killed by the kernel: no memory"
        for pattern, reason in _OF_THE_HOST:
            if node.exit_code is not None and pattern.search(logs.get(name, "")):
                return f"{name} ended: {reason}"
        if node.exit_code in _ENDED_BY_SOMEBODY:
            return f"{name} was ended from outside, with exit code {node.exit_code}"
        if node.exit_code is not None and node.fatal is None:
            return f"{name} ended with exit code {node.exit_code} before Kafka said why"
    return None


def _unseen(nodes: Mapping[str, NodeReport], brokers: Mapping[str, int]) -> list[str]:
    """Brokers that no answering broker reports as unfenced; empty if no broker answers."""
    views = [set(node.brokers) for node in nodes.values() if isinstance(node.brokers, tuple)]
    seen = set().union(*views)
    return [name for name, number in brokers.items() if number not in seen] if views else []


def _node_report(cluster: Cluster, name: str, log: str) -> NodeReport:
    state = cluster.containers[name].state()
    (node,) = (one for one in cluster.nodes if one.name == name)
    fatal = _FATAL.search(log)
    standing_out = [" ".join(line.text.split()) for line in findings(log)]
    truncations = [int(found["offset"]) for found in _TRUNCATED.finditer(log)]
    return NodeReport(
        status=str(state["Status"]),
        exit_code=None if state["Running"] else int(state["ExitCode"]),
        out_of_memory=bool(state["OOMKilled"]),
        quorum=_quorum(cluster.controller_listeners[name]) if node.is_controller else None,
        quorum_state=_quorum_state(cluster, name),
        brokers=_brokers(cluster.observe_listeners[name]) if node.is_broker else None,
        truncated_to=min(truncations, default=None),
        fatal=None if fatal is None else _line_at(log, fatal.start()),
        complaints=tuple(text[:_COMPLAINT_CHARACTERS_MAX] for text in standing_out[-_COMPLAINTS_MAX:]),
    )


def _line_at(text: str, place: int) -> str:
    begin = text.rfind("\n", 0, place) + 1
    return text[begin:].partition("\n")[0][:_COMPLAINT_CHARACTERS_MAX]


def _quorum_state(cluster: Cluster, name: str) -> dict[str, object] | None:
    (node,) = (one for one in cluster.nodes if one.name == name)
    try:
        seen = read_quorum_state(cluster.disk(node), began_ns=0)
    except OSError:
        return None
    if seen is None:
        return None
    return {name: value for name, value in msgspec.structs.asdict(seen).items() if name != "began_ns"}


def _quorum(address: tuple[str, int]) -> dict[str, object] | str:
    endpoint = Endpoint(*address, timeout_s=_ASK_TIMEOUT_S)
    try:
        answer = endpoint.quorum()
    except WireError as error:
        return str(error)
    finally:
        endpoint.close()
    if answer.error:
        return f"answered {answer.error}: it does not lead"
    fields: dict[str, object] = msgspec.to_builtins(answer)
    return fields


def _brokers(address: tuple[str, int]) -> tuple[int, ...] | str:
    endpoint = Endpoint(*address, timeout_s=_ASK_TIMEOUT_S)
    try:
        return tuple(sorted(endpoint.cluster([]).brokers))
    except WireError as error:
        return str(error)
    finally:
        endpoint.close()
