"""Evidence from disks: selects the disks to read, and writes their journal."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from checkers.history.replicas import (
    EVIDENCE_ABORTED,
    EVIDENCE_FOLDERS,
    EVIDENCE_METADATA,
    EVIDENCE_REPLICAS,
)
from checkers.history.share_states import EVIDENCE_SHARES
from checkers.history.transaction_states import EVIDENCE_STATES
from harness.record.journal import Journals, Recorder
from harness.vocabulary import Node

JOURNAL = "replicas"
PROCESS = "observer-replicas"
EVIDENCE = (
    EVIDENCE_REPLICAS,
    EVIDENCE_METADATA,
    EVIDENCE_FOLDERS,
    EVIDENCE_ABORTED,
    EVIDENCE_STATES,
    EVIDENCE_SHARES,
)
"""Evidence that every run must gather, as listed in its setup."""
SETTLE_BOUND_S = 5.0
"""How long followers may take to catch up with their leaders, without load."""


class OnDisk(Protocol):
    """The part of a cluster that is needed here."""

    folder: Path

    @property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes of the cluster."""
        ...

    def disk(self, node: Node) -> Path:
        """Path of the node's log directory on the host; the first one, if it has several."""
        ...

    def disks(self, node: Node) -> tuple[Path, ...]:
        """Paths of the node's log directories on the host."""
        ...


def gather_disks(
    cluster: OnDisk,
    partitions: Sequence[tuple[str, int]],
    journals: Journals,
    settle_bound_s: float = SETTLE_BOUND_S,
) -> None:
    """Record replicas, their indexes of aborted transactions, leader epochs, brokers' folders, metadata logs.

    Leader epochs are also those of Kafka's internal topics.  Of the offsets topic, the offsets are recorded
    that compaction has left, and of the topics of transactions' and share groups' states, the records.

    Raises:
        JournalError: the evidence could not be recorded.
        OSError: copies could not be written.
    """
    from harness.evidence.aborted_transactions import gather_aborted  # noqa: PLC0415 - the same as ReplicaReader
    from harness.evidence.commits_left import gather_commits_left  # noqa: PLC0415 - the same as ReplicaReader
    from harness.evidence.folders import gather_folders  # noqa: PLC0415 - loads NumPy, as those below do
    from harness.evidence.leader_epochs import gather_leader_epochs, partitions_of_kafka  # noqa: PLC0415 - the same
    from harness.evidence.metadata_logs import gather_metadata_logs  # noqa: PLC0415 - loads numba, half a second
    from harness.evidence.replicas import ReplicaReader  # noqa: PLC0415 - the same, which `krucible list` need not pay
    from harness.evidence.share_states import gather_share_states  # noqa: PLC0415 - the same
    from harness.evidence.transaction_states import ends_of_states, gather_transaction_states  # noqa: PLC0415 - the same

    recorder = Recorder(journals.open(JOURNAL, "observer"), PROCESS)
    nodes = cluster.folder / "nodes"
    brokers = {node.name: cluster.disks(node) for node in cluster.nodes if node.is_broker}
    homes = {name: nodes / name for name in brokers}
    ends = ends_of_states(brokers)
    ReplicaReader(recorder, brokers, homes, settle_bound_s).gather(partitions)
    gather_aborted(recorder, brokers, partitions)
    gather_leader_epochs(recorder, brokers, [*partitions, *partitions_of_kafka(brokers)])
    gather_commits_left(recorder, brokers)
    gather_transaction_states(recorder, brokers, ends)
    gather_share_states(recorder, brokers)
    gather_folders(recorder, brokers)
    disks = {node.name: cluster.disk(node) for node in cluster.nodes}
    gather_metadata_logs(recorder, disks, nodes)
