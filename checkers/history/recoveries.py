"""Recover operations: the state of every partition after faults were healed.

The fields are those of docs/histories.md, as in `checkers.history.fields`.
"""

from collections.abc import Collection

import msgspec

_CROWDED = 10.0
"""Tasks for each CPU from which on a host's time to recover says nothing about Kafka: a heartbeat, due twice
a second, waits for a CPU longer than a session lasts.
"""


class RecoveredPartition(msgspec.Struct, frozen=True):
    """The state of one partition at the end of recovery.

    Attributes:
        topic: name of the topic.
        partition: number of the partition.
        leader: id of the leader; None if there was none.
        isr: ids of the replicas in sync.
        replicas: ids of all replicas.
        write_acked: whether a write was acknowledged; None if none was tried, because no final reader would
            read it.
    """

    topic: str
    partition: int
    leader: int | None
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    write_acked: bool | None

    def lacks(self, dead: Collection[int]) -> tuple[str, ...]:
        """The unrecovered properties as text, except replicas of dead brokers; empty if there are none."""
        missing = sorted(set(self.replicas) - set(self.isr) - set(dead))
        return (
            *(("no leader",) if self.leader is None else ()),
            *((f"replicas {missing} outside the ISR",) if missing else ()),
            *(("no acknowledged write",) if self.write_acked is False else ()),
        )


class RecoveryAwaited(msgspec.Struct, frozen=True):
    """The time limit of a recovery."""

    bound_ms: int | float


class Recovery(RecoveryAwaited, frozen=True, kw_only=True, omit_defaults=True):
    """Result of a recover operation.

    Attributes:
        took_ms: how long it took.
        partitions: state of each of the workload's partitions.
        load_per_cpu: tasks of the host for each CPU; None if an older run does not report it.
        dead: ids of brokers whose processes had ended without a fault.
    """

    took_ms: int | float
    partitions: tuple[RecoveredPartition, ...]
    load_per_cpu: float | None = None
    dead: tuple[int, ...] = ()

    @property
    def crowded(self) -> str:
        """A text that the host was too busy for the recovery time to count; empty if it was not."""
        if self.load_per_cpu is None or self.load_per_cpu < _CROWDED:
            return ""
        return f"the host had {self.load_per_cpu:.0f} tasks for each CPU, and {_CROWDED:.0f} are too many"


class PartitionRecorded(msgspec.Struct, frozen=True):
    """The recorded state of one partition in any history; fields as in `RecoveredPartition`."""

    topic: str
    partition: int
    leader: int | None
    isr: tuple[int, ...]
    replicas: tuple[int, ...] | None = None
    write_acked: bool | None = None


class RecoveryRecorded(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded completion of a recover operation; fields as in `Recovery`."""

    bound_ms: int | float | None = None
    took_ms: int | float | None = None
    partitions: tuple[PartitionRecorded, ...] | None = None
    load_per_cpu: float | None = None
    dead: tuple[int, ...] = ()
