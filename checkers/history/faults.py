"""The types of faults, and of the gambits that they are parts of.

The fields are those of docs/histories.md, as in `checkers.history.fields`.
"""

from collections.abc import Mapping

import msgspec

from checkers.history.fields import written
from checkers.history.operations import Operation


class PlannedFault(msgspec.Struct, frozen=True, omit_defaults=True):
    """A fault that is about to be injected or healed: what is planned, and what it does to its targets.

    Attributes:
        kind: such as ``partition`` or ``kill``.
        spec: the planned fault with its symbolic target, unchecked.
        ends_processes: whether it ends one process of its targets; None if not recorded.
        silences: whether its targets can't answer any request until the heal; None if not recorded.
        ends_cleanly: whether a process that it ends records that it ended cleanly; None if unknown.
        tears_writes: whether its targets' logs may end with half a batch; None if not recorded.
        loses_unsynced: whether its targets' disks may lack what was not synced; None if not recorded.
        wipes: whether it removes what its targets' disks had; None if not recorded.
        glyph: its shape in the report, unchecked.
        gambit: id of the gambit that it is a part of.
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
        cut: directed pairs of nodes, sender first, that are cut.
    """

    targets: tuple[str, ...] = written(())
    cut: tuple[tuple[str, str], ...] = written(())


class FaultProbed(FaultAimed, frozen=True, kw_only=True):
    """A fault that was healed, or held a connection, and what a probe saw of that; nothing where none did."""

    probe: Mapping[str, object]


class FaultInjected(FaultAimed, frozen=True, kw_only=True):
    """A fault that was injected.

    Attributes:
        resolved_by: how its target was found: ``name``, ``role``, or ``fallback``.
        roles: those that the target had at that moment.
        probe: what a probe saw of it; nothing where none did.
    """

    resolved_by: str
    roles: tuple[str, ...]
    probe: Mapping[str, object]


class FaultRefused(PlannedFault, frozen=True, kw_only=True):
    """A fault that hit no target, and why: ``held``, ``dead``, ``over`` or ``withheld``."""

    refused: str


class FaultRecorded(msgspec.Struct, frozen=True, kw_only=True):
    """A fault as it is read, asked for or done; a completion need not repeat what was planned.

    Attributes:
        kind: as in `PlannedFault`.
        spec: as there.
        gambit: as there.
        blink: as there.
        targets: as in `FaultAimed`.
        cut: as there.
        resolved_by: as in `FaultInjected`.
        roles: as there.
        probe: as there.
        refused: as in `FaultRefused`.
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
        """What a probe of a disk saw; only for faults of disks.

        Raises:
            msgspec.ValidationError: a field is of another type than docs/histories.md says.
        """
        return msgspec.convert(self.probe or {}, DiskProbed)


class FaultRead(msgspec.Struct, frozen=True):
    """The fields of a planned fault that checkers read; they depend on its kind.

    Attributes:
        pattern: the pattern of a partition, or of lost packets.
        scope: which part of a disk is removed.
        topic: the topic whose folders are removed; None: all topics.
        log_dir: which log directory is hit, from 1; None: all log directories of the node.
        sparing: True where it is attempted only if no acknowledged record can be lost with the disk.
    """

    pattern: str | None = None
    scope: str | None = None
    topic: str | None = None
    log_dir: int | None = None
    sparing: object = False


class LogFlushed(msgspec.Struct, frozen=True, array_like=True):
    """How far a log was flushed that lay on a disk after a loss of power.

    Attributes:
        topic: of its partition.
        partition: the partition's number.
        recovery_point: what the same disk's checkpoint says; all records below it were flushed.
        end: offset behind the log's last whole batch.
    """

    topic: str
    partition: int
    recovery_point: int
    end: int


class DiskProbed(msgspec.Struct, frozen=True):
    """What probes of disks see; the fields depend on the fault, and on whether it is injected or healed.

    Attributes:
        directory_id_before: identity of the disk before the fault; None where Kafka has no such ids.
        directory_id_after: identity of the disk after the heal.
        removed: files and folders that were removed from the log directories; None if not recorded.
        running: whether the node keeps running with a failed directory.
        directory_ids: identities of the directories that have failed.
        flushed: what was left of the logs whose recovery points were on the disks, once power was lost.
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
    """Of which kind a gambit is."""

    kind: str


class GambitEnded(GambitBegan, frozen=True):
    """How far a gambit came, and which faults it tried."""

    planned: int
    made: int
    faults: tuple[str, ...]
