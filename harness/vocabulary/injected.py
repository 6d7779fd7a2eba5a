"""Properties of a kind of fault: its effect on processes, what it needs, and how it is drawn."""

from typing import ClassVar

import msgspec

from harness.vocabulary.topology import DiskKind, Topology


class Injected(msgspec.Struct, frozen=True, tag_field="kind"):
    """A fault that a scenario can name; subclasses override the properties in which they differ.

    If a fault that ends processes does not state what it does to disks, checkers assume the worst.

    Attributes:
        ends_processes: whether it ends one process of its targets, at once or until the heal is over.
        silences: whether its targets can't answer any request until the heal.
        ends_cleanly: whether a process that it ends records that it ended cleanly; None if unknown.
        tears_writes: whether logs of its targets may end with half a batch.
        loses_unsynced: whether disks of its targets may lack what was not synced.
        wipes: whether it removes what disks of its targets had.
        at_brokers: whether it can hit only brokers.
        drawn: whether a random schedule may draw its kind; then it needs only a target and a draw.
        glyph: its shape in the report, a path of SVG within 5 units of the origin; None: a diamond.
    """

    ends_processes: ClassVar[bool] = False
    silences: ClassVar[bool] = False
    ends_cleanly: ClassVar[bool | None] = None
    tears_writes: ClassVar[bool | None] = None
    loses_unsynced: ClassVar[bool | None] = None
    wipes: ClassVar[bool | None] = None
    at_brokers: ClassVar[bool] = False
    drawn: ClassVar[bool] = False
    glyph: ClassVar[str | None] = None

    @property
    def takes_process(self) -> bool:
        """Whether it takes its target's process away, so that no other fault of processes fits on it."""
        return self.ends_processes or self.silences

    @property
    def exits_cleanly(self) -> bool | None:
        """As `ends_cleanly`, where that depends on how the fault is meant."""
        return self.ends_cleanly

    def unavailable_because(self, topology: Topology) -> str | None:  # noqa: ARG002 - most need nothing
        """Why this topology can't have the fault; None if it can."""
        return None


def kind_of(word: type[Injected]) -> str:
    """The history's name for faults of a type."""
    return str(word.__struct_config__.tag)


def lacks_log_dir(log_dir: int | None, topology: Topology) -> str | None:
    """Why a topology lacks a log directory; None if it has it."""
    if 1 <= (log_dir or 1) <= topology.log_dirs:
        return None
    return f"there is no log directory {log_dir}, the topology has {topology.log_dirs}"


def lacks_file_systems(topology: Topology) -> str | None:
    """Why disks can't lose what was not synced; None where they can."""
    if topology.disk is not DiskKind.FOLDER:
        return None
    return "power loss and a dead disk need disks that are file systems: loop-ext4 or loop-xfs"
