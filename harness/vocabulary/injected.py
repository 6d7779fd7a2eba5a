"""Properties of a kind of fault: its effect on processes, what it needs, and how it is drawn."""

from typing import ClassVar

import msgspec

from harness.vocabulary.topology import Among, DiskKind, Mode, Topology


class Injected(msgspec.Struct, frozen=True, tag_field="kind"):
    """A fault that a scenario can name; subclasses override the properties in which they differ.

    If a fault that ends processes does not state what it does to disks, checkers assume the worst.

    Attributes:
        ends_processes: whether it ends one process of each target, at once or before the heal is complete.
        silences: whether its targets can't answer any request until the heal.
        ends_cleanly: whether a process that it ends records a clean shutdown; None if unknown.
        tears_writes: whether logs of its targets may end with an incomplete batch.
        loses_unsynced: whether disks of its targets may lose data that was not synced.
        wipes: whether it removes data from disks of its targets.
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
        """Whether it ends or freezes its target's process, so that no other fault of it is possible."""
        return self.ends_processes or self.silences

    @property
    def exits_cleanly(self) -> bool | None:
        """As `ends_cleanly`; overridden where it depends on the fault's parameters."""
        return self.ends_cleanly

    def unavailable_because(self, topology: Topology) -> str | None:  # noqa: ARG002 - most need nothing
        """The reason why the fault is impossible in this topology; None if it is possible."""
        return None


def kind_of(word: type[Injected]) -> str:
    """The history's name for faults of a type."""
    return str(word.__struct_config__.tag)


def lacks_log_dir(log_dir: int | None, topology: Topology) -> str | None:
    """The reason why a topology does not have a log directory; None if it has it."""
    if 1 <= (log_dir or 1) <= topology.log_dirs:
        return None
    return f"there is no log directory {log_dir}, the topology has {topology.log_dirs}"


def lacks_file_systems(topology: Topology) -> str | None:
    """The reason why the topology's disks can't lose unsynced data; None if they can."""
    if topology.disk is not DiskKind.FOLDER:
        return None
    return "power loss and a dead disk need disks that are file systems: loop-ext4 or loop-xfs"


def lacks_nodes(what: str, needed: int, among: Among, topology: Topology) -> str | None:
    """The reason why there are too few nodes for a fault; None if there are enough."""
    if among is not Among.ALL and topology.mode is Mode.COMBINED:
        return f"in combined mode controllers and brokers share an address, so {among} can't be cut alone"
    sizes = {Among.CONTROLLERS: topology.controllers, Among.BROKERS: topology.brokers}
    size = sizes.get(among, len(topology.nodes()))
    return f"a {what} needs {needed} nodes, there are {size}" if size < needed else None
