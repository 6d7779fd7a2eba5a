"""All observers of one run, started and stopped together."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from harness.kafka.endpoint import Endpoint
from harness.observers.commits import CommitsObserver
from harness.observers.ends import LogEndsObserver
from harness.observers.features import FeaturesObserver
from harness.observers.offsets import OffsetsObserver
from harness.observers.partitions import PartitionObserver
from harness.observers.quorum import QuorumObserver
from harness.observers.quorum_state import QuorumStateObserver
from harness.observers.reassignments import ReassignmentObserver
from harness.observers.starts import StartsObserver
from harness.observers.view import ClusterView
from harness.record.journal import Journals
from harness.vocabulary import Node
from harness.workloads.deletions import DeletionListeners
from harness.workloads.worker import Worker, join_all, raise_failures

ASK_TIMEOUT_S = 1.5
STOP_BOUND_S = 5.0
ENDS_INTERVAL_S = 0.1
"""Time between observations of the ends of logs, seconds."""
FEATURES_INTERVAL_S = 0.5
"""Time between observations of a node's feature levels, seconds: two a second show each change."""
COMMITS_INTERVAL_S = 0.25
"""Time between observations of groups' commits, seconds: a rolled segment is cleaned later than that."""

Address = tuple[str, int]


class Observable(Protocol):
    """The part of a cluster that observers need."""

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes of the cluster."""
        ...

    @property
    def controller_listeners(self) -> Mapping[str, Address]:
        """Controller name to its CONTROLLER listener."""
        ...

    @property
    def observe_listeners(self) -> Mapping[str, Address]:
        """Broker name to its OBSERVE listener."""
        ...

    def disk(self, node: Node) -> Path:
        """Path of the node's log directory on the host; the first one, if it has several."""
        ...

    def disks(self, node: Node) -> Sequence[Path]:
        """Paths of the node's log directories on the host."""
        ...


class Observers:
    """Threads that record what the nodes report, one per listener and one for the files.

    Args:
        cluster: the cluster to observe.
        topics: the topics to record.
        journals: journals of the run.
        interval_ms: time between two observations of one observer, milliseconds.
        reassignments: whether to observe reassignments too.
        features: whether to observe feature levels too.
        offsets: whether to request the starts and ends of partitions too.
        ends: topics whose logs' ends are read from disks.
        commits: whether to read groups' commits from disks.
        deletions: reports deletions of records, after each of which the starts of logs are requested; None if
            there are none.

    Attributes:
        view: the latest observations.
    """

    def __init__(
        self,
        cluster: Observable,
        topics: tuple[str, ...],
        journals: Journals,
        interval_ms: int = 250,
        *,
        reassignments: bool = False,
        features: bool = False,
        offsets: bool = False,
        ends: tuple[str, ...] = (),
        commits: bool = False,
        deletions: DeletionListeners | None = None,
    ) -> None:
        self.view = ClusterView()
        interval_s = interval_ms / 1000
        brokers = [node for node in cluster.nodes if node.name in cluster.observe_listeners]
        self._observers: list[Worker] = [*_of_quorum(cluster, journals, self.view, interval_s)]
        for broker in brokers:
            endpoint = Endpoint(*cluster.observe_listeners[broker.name], ASK_TIMEOUT_S)
            self._observers.append(
                PartitionObserver(journals, broker, endpoint, self.view, topics, interval_s=interval_s)
            )
            if deletions is not None:
                endpoint = Endpoint(*cluster.observe_listeners[broker.name], ASK_TIMEOUT_S)
                self._observers.append(StartsObserver(journals, broker.name, endpoint, deletions))
        if features:
            for node, address in {**cluster.controller_listeners, **cluster.observe_listeners}.items():
                endpoint = Endpoint(*address, ASK_TIMEOUT_S)
                self._observers.append(FeaturesObserver(journals, node, endpoint, FEATURES_INTERVAL_S))
        if reassignments:
            listeners = cluster.observe_listeners
            self._observers.append(
                ReassignmentObserver(journals, listeners, self.view, interval_s, ASK_TIMEOUT_S)
            )
        if ends or commits:
            disks = {node.name: cluster.disks(node) for node in brokers}
            self._observers += _of_disks(journals, disks, ends, commits=commits)
        if offsets:
            ids = {node.name: node.id for node in cluster.nodes}
            leaders = {name: (ids[name], address) for name, address in cluster.observe_listeners.items()}
            self._observers.append(OffsetsObserver(journals, leaders, self.view, interval_s, ASK_TIMEOUT_S))

    def start(self) -> None:
        """Start all observers."""
        for observer in self._observers:
            observer.start()

    def check(self) -> None:
        """Raise if one has died.

        Raises:
            JournalError: it could not write its history.
            WorkloadError: it died of another error.
        """
        raise_failures(self._observers)

    def stop(self) -> None:
        """Stop them, which takes at most as long as one unanswered request, 1.5 s.

        Raises:
            JournalError: one could not write its history.
            WorkloadError: one died of another error, or did not end.
        """
        for observer in self._observers:
            observer.stopping.set()
        join_all(self._observers, STOP_BOUND_S)


def _of_quorum(
    cluster: Observable, journals: Journals, view: ClusterView, interval_s: float
) -> Iterator[Worker]:
    """The observer of the nodes' quorum-state files, and one for each controller."""
    files = {node.name: cluster.disk(node) for node in cluster.nodes}
    yield QuorumStateObserver(journals, files, interval_s)
    for node, address in cluster.controller_listeners.items():
        yield QuorumObserver(journals, node, Endpoint(*address, ASK_TIMEOUT_S), view, interval_s)


def _of_disks(
    journals: Journals, disks: Mapping[str, Sequence[Path]], ends: tuple[str, ...], *, commits: bool
) -> Iterator[Worker]:
    if ends:
        yield LogEndsObserver(journals, disks, ends, ENDS_INTERVAL_S)
    if commits:
        yield CommitsObserver(journals, disks, COMMITS_INTERVAL_S)
