"""The types of faults, and of the gambits that they belong to.

The fields are those of docs/histories.md, as in `checkers.history.fields`.
"""

from collections.abc import Mapping
from enum import StrEnum

import msgspec

from checkers.history.fields import written
from checkers.history.operations import Operation


class ResolvedBy(StrEnum):
    """How the target of a fault was found."""

    NAME = "name"
    """The fault names the node."""
    ROLE = "role"
    """The node had the role that the fault asks for."""
    FALLBACK = "fallback"
    """No node that was free had the role, so any free node was taken."""


class Refusal(StrEnum):
    """The kind of reason why a fault hit no target."""

    HELD = "held"
    """Other faults affected every possible target."""
    DEAD = "dead"
    """The process of the target had ended by itself."""
    OVER = "over"
    """It was a blink that was not due before the end of the schedule."""
    WITHHELD = "withheld"
    """The fault could have lost acknowledged records."""


class PlannedFault(msgspec.Struct, frozen=True, omit_defaults=True):
    """A fault that will be injected or healed: the plan, and the effects on its targets.

    Attributes:
        kind: the kind of fault, such as ``partition`` or ``kill``.
        spec: the planned fault with its symbolic target, unchecked.
        ends_processes: whether it ends one process of its targets; None if not recorded.
        silences: whether its targets can't answer any request until the heal; None if not recorded.
        ends_cleanly: whether a process that it ends records that it ended cleanly; None if unknown.
        tears_writes: whether its targets' logs may end with half a batch; None if not recorded.
        loses_unsynced: whether its targets' disks may lack data that was not synced; None if not recorded.
        wipes: whether it removes data from its targets' disks; None if not recorded.
        glyph: its shape in the report, unchecked.
        gambit: id of the gambit that it belongs to.
        blink: whether it is a short fault that is injected in addition to all others.
    """

    kind: str
    spec: object = None
    ends_processes: bool | None = None
    silences: bool | None = None
    ends_cleanly: bool | None = None
    tears_writes: bool | None = None
    loses_unsynced: bool | None = None
    wipes: bool | None = None
    glyph: object = None
    gambit: str | None = None
    blink: bool = False


class FaultAimed(PlannedFault, frozen=True):
    """A fault that was attempted.

    Attributes:
        targets: names of the nodes that it was resolved to.
        cut: directed pairs of nodes, sender first, whose connection is cut.
    """

    targets: tuple[str, ...] = written(())
    cut: tuple[tuple[str, str], ...] = written(())


class FaultProbed(FaultAimed, frozen=True, kw_only=True):
    """A fault that was healed, or held a connection, with the result of its probe; empty without a probe."""

    probe: Mapping[str, object]


class FaultInjected(FaultAimed, frozen=True, kw_only=True):
    """A fault that was injected.

    Attributes:
        resolved_by: how its target was found.
        roles: roles that the target had at that time.
        probe: the result of the probe; empty without a probe.
    """

    resolved_by: ResolvedBy
    roles: tuple[str, ...]
    probe: Mapping[str, object]


class FaultRefused(PlannedFault, frozen=True, kw_only=True):
    """A fault that hit no target, with the kind of reason."""

    refused: Refusal


class FaultRecorded(msgspec.Struct, frozen=True, kw_only=True):
    """A fault as it is read, from a request or a completion; a completion need not repeat the plan.

    Attributes:
        kind: as in `PlannedFault`.
        spec: as in `PlannedFault`.
        gambit: as in `PlannedFault`.
        blink: as in `PlannedFault`.
        targets: as in `FaultAimed`.
        cut: as in `FaultAimed`.
        resolved_by: as in `FaultInjected`, unchecked.
        roles: as in `FaultInjected`.
        probe: as in `FaultInjected`.
        refused: as in `FaultRefused`, unchecked.
    """

    kind: str = ""
    spec: object = None
    gambit: str | None = None
    blink: bool | None = None
    targets: tuple[str, ...] = ()
    cut: tuple[tuple[str, str], ...] = ()
    resolved_by: str | None = None
    roles: tuple[str, ...] | None = None
    probe: Mapping[str, object] | None = None
    refused: str | None = None

    @property
    def planned(self) -> "FaultRead":
        """The fields of the planned fault that checkers read.

        Raises:
            msgspec.ValidationError: a field is of another type than docs/histories.md says.
        """
        return msgspec.convert(self.spec if isinstance(self.spec, dict) else {}, FaultRead)

    @property
    def of_disk(self) -> "DiskProbed":
        """The result of a disk probe; only for faults of disks.

        Raises:
            msgspec.ValidationError: a field is of another type than docs/histories.md says.
        """
        return msgspec.convert(self.probe or {}, DiskProbed)


class FaultRead(msgspec.Struct, frozen=True):
    """The fields of a planned fault that checkers read; they depend on its kind.

    Attributes:
        pattern: the pattern of a partition, or of lost packets.
        scope: the part of a disk that is removed.
        topic: the topic whose folders are removed; None for all topics.
        log_dir: number of the affected log directory, from 1; None for all log directories of the node.
        sparing: whether it is attempted only if no acknowledged record can be lost with the disk.
        version: the version of Kafka that an upgrade brings; None: the run's.
    """

    pattern: str | None = None
    scope: str | None = None
    topic: str | None = None
    log_dir: int | None = None
    sparing: object = False
    version: str | None = None


class LogFlushed(msgspec.Struct, frozen=True, array_like=True):
    """The flushed part of a log on a disk after a power loss.

    Attributes:
        topic: topic of the partition.
        partition: the partition's number.
        recovery_point: offset in the same disk's checkpoint; all records below it were flushed.
        end: offset after the log's last whole batch.
    """

    topic: str
    partition: int
    recovery_point: int
    end: int


class DiskProbed(msgspec.Struct, frozen=True):
    """The result of a disk probe.

    The fields depend on the fault, and on whether it is injected or healed.

    Attributes:
        directory_id_before: identity of the disk before the fault; None if this version of Kafka has no such
            ids.
        directory_id_after: identity of the disk after the heal.
        removed: files and folders that were removed from the log directories; None if not recorded.
        running: whether the node keeps running with a failed directory.
        directory_ids: identities of the directories that have failed.
        flushed: after a power loss, the remaining logs that have recovery points on the disks.
    """

    directory_id_before: str | None = None
    directory_id_after: str | None = None
    removed: tuple[str, ...] | None = None
    running: bool = False
    directory_ids: tuple[str | None, ...] = ()
    flushed: tuple[LogFlushed, ...] = ()


def recorded_fault(operation: Operation) -> FaultRecorded | None:
    """The value of an injection or a heal, as it is read; None if it has none.

    Raises:
        msgspec.ValidationError: it is not as docs/histories.md says.
    """
    return None if operation.value is None else msgspec.convert(operation.value, FaultRecorded)


class GambitBegan(msgspec.Struct, frozen=True):
    """The kind of a gambit that started."""

    kind: str


class GambitEnded(GambitBegan, frozen=True):
    """How far a gambit got, and the faults that it tried."""

    planned: int
    made: int
    faults: tuple[str, ...]
