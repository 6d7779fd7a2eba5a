"""Recover operations: the state of every partition after faults were healed."""

from collections.abc import Collection

import msgspec

_CROWDED = 10.0
"""Tasks for each CPU from which on a host tells nothing of Kafka's time to recover: a heartbeat that is due
twice a second waits for a CPU longer than sessions last."""


class RecoveredPartition(msgspec.Struct, frozen=True):
    """How one partition stood at the end of recovery; fields as in docs/histories.md."""

    topic: str
    partition: int
    leader: int | None
    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    write_acked: bool

    def lacks(self, dead: Collection[int]) -> tuple[str, ...]:
        """What it has not got back, in words, beside replicas of the dead; empty if that is nothing."""
        missing = sorted(set(self.replicas) - set(self.isr) - set(dead))
        return (
            *(("no leader",) if self.leader is None else ()),
            *((f"replicas {missing} outside the ISR",) if missing else ()),
            *(() if self.write_acked else ("no acknowledged write",)),
        )


class Recovery(msgspec.Struct, frozen=True):
    """Result of a recover operation; fields as in docs/histories.md."""

    bound_ms: float
    took_ms: float
    partitions: tuple[RecoveredPartition, ...]
    dead: tuple[int, ...] = ()
    load_per_cpu: float | None = None

    @property
    def crowded(self) -> str:
        """That the host was too busy for its time to mean anything, in words; empty if it was not."""
        if self.load_per_cpu is None or self.load_per_cpu < _CROWDED:
            return ""
        return f"the host had {self.load_per_cpu:.0f} tasks for each CPU, and {_CROWDED:.0f} are too many"
