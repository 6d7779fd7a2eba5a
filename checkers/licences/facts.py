"""Facts of a history that the rules of licences use; each is computed once, when a rule needs it."""

from collections import defaultdict
from functools import cached_property
from typing import NamedTuple

import msgspec

from checkers.columns.tables import PartitionName
from checkers.evidence.administration import Election, elections_of
from checkers.evidence.config_changes import ConfigChanges, config_changes
from checkers.evidence.faults import FaultWindow, fault_windows
from checkers.evidence.features import ELR_VERSION, levels_in_run
from checkers.evidence.kafka_versions import KafkaVersions, kafka_versions
from checkers.evidence.leader_epochs import LeaderEpochs, leader_epochs
from checkers.evidence.partition_changes import PartitionChanges, partition_changes
from checkers.evidence.topic_partitions import possible_partitions
from checkers.history.observed import PARTITIONS, PartitionsSeen
from checkers.history.operations import History
from checkers.history.setup import Setup, recorded_setup


class ReportedPartitionState(NamedTuple):
    """State of a partition as one broker reported it; times in nanoseconds."""

    began_ns: int
    time_ns: int
    node: str
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]


class Facts:
    """A history, as far as licences depend on it."""

    def __init__(self, history: History) -> None:
        self.history = history

    @property
    def setup(self) -> Setup:
        """The set-up; an empty one where there is none."""
        return recorded_setup(self.history)

    @cached_property
    def versions(self) -> KafkaVersions:
        """The versions of Kafka that nodes may have run, by time."""
        return kafka_versions(self.history)

    @cached_property
    def ids(self) -> dict[str, int]:
        """Node ids by name."""
        return {node.name: node.id for node in self.setup.nodes}

    @property
    def eligible_replicas(self) -> bool:
        """Whether the cluster may keep eligible leader replicas (KIP-966) at any time of the run."""
        return max(levels_in_run(self.history, ELR_VERSION)) > 0

    @property
    def no_eligible_replicas(self) -> bool:
        """Whether the cluster may keep no eligible leader replicas at any time of the run."""
        return min(levels_in_run(self.history, ELR_VERSION)) == 0

    @property
    def leader_acknowledges_alone(self) -> bool:
        """Whether producers wait for the leader only (acks=1)."""
        return str(self.setup.workload.acks) == "1"

    @cached_property
    def partitions(self) -> tuple[PartitionName, ...]:
        """All partitions of the run's topics that may exist, including added ones."""
        return tuple(each.name for each in possible_partitions(self.history))

    @cached_property
    def windows(self) -> tuple[FaultWindow, ...]:
        """Every fault that was injected, or may have been."""
        return fault_windows(self.history)

    @cached_property
    def elections(self) -> list[Election]:
        """Every request for elections."""
        return elections_of(self.history)

    @cached_property
    def changes(self) -> PartitionChanges:
        """The partition states that the metadata log shows."""
        return partition_changes(self.history)

    @cached_property
    def configs(self) -> ConfigChanges:
        """The topic configs that the metadata log shows."""
        return config_changes(self.history)

    @cached_property
    def epochs(self) -> LeaderEpochs:
        """The offsets at which leader epochs started."""
        return leader_epochs(self.history)

    @cached_property
    def views(self) -> dict[PartitionName, list[ReportedPartitionState]]:
        """The states that brokers reported of each partition, in the order of their answers."""
        found: dict[PartitionName, list[ReportedPartitionState]] = defaultdict(list)
        for operation in self.history.observed(PARTITIONS):
            seen = msgspec.convert(operation.value, PartitionsSeen)
            times, node = (seen.began_ns, operation.time_ns), operation.node or ""
            for topic, states in seen.topics.items():
                for state in states:
                    view = ReportedPartitionState(*times, node, state.leader_epoch, state.replicas, state.isr)
                    found[PartitionName(topic, state.partition)].append(view)
        return dict(found)
