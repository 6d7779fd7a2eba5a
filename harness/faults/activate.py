"""The list of faults: a new one is a module beside this one and a line here."""

from collections.abc import Callable

import msgspec

from harness.faults.contract import ActiveFault, Bench
from harness.faults.disk import ActiveDeadDisk, ActivePowerLoss, ActiveWipe
from harness.faults.partition import ActivePartition
from harness.faults.process import ActiveKill, ActivePause, ActiveStop
from harness.faults.targets import Resolved
from harness.vocabulary.faults import (
    Among,
    DeadDisk,
    Fault,
    Kill,
    Partition,
    Pattern,
    Pause,
    PowerLoss,
    Stop,
    WipeDisk,
)
from harness.vocabulary.topology import DiskKind, Mode, Topology

_BRIDGE_NODES_MIN = 3
_WITHOUT_A_CHOICE: dict[type[Fault], Callable[[Resolved, Bench], ActiveFault]] = {
    Kill: ActiveKill,
    Pause: ActivePause,
    Stop: ActiveStop,
    PowerLoss: ActivePowerLoss,
}
"""Faults of which nothing is to be known but their target."""


def activate(spec: Fault, fault: str, resolved: Resolved, bench: Bench) -> ActiveFault:
    """The fault that a spec names, its target resolved, not injected yet."""
    match spec:
        case Partition():
            return ActivePartition(spec, fault, resolved, bench)
        case WipeDisk():
            return ActiveWipe(spec, resolved, bench)
        case DeadDisk():
            return ActiveDeadDisk(spec, resolved, bench)
        case _:
            return _WITHOUT_A_CHOICE[type(spec)](resolved, bench)


def unavailable_because(spec: Fault, topology: Topology) -> str | None:
    """Why this topology can't have the fault; None if it can."""
    if isinstance(spec, WipeDisk | DeadDisk) and not 1 <= (spec.log_dir or 1) <= topology.log_dirs:
        return f"there is no log directory {spec.log_dir}, the topology has {topology.log_dirs}"
    if isinstance(spec, PowerLoss | DeadDisk) and topology.disk is DiskKind.FOLDER:
        return "power loss and a dead disk need disks that are file systems: loop-ext4 or loop-xfs"
    if not isinstance(spec, Partition):
        return None
    if spec.among is Among.CONTROLLERS and topology.mode is Mode.COMBINED:
        return "in combined mode controllers and brokers share an address, so controllers can't be cut alone"
    size = topology.controllers if spec.among is Among.CONTROLLERS else len(topology.nodes())
    needed = _BRIDGE_NODES_MIN if spec.pattern in (Pattern.BRIDGE, Pattern.MAJORITY_RING) else 2
    if size < needed:
        return f"a {spec.pattern} partition needs {needed} nodes, there are {size}"
    return None


def process_fault(spec: Fault) -> bool:
    """Whether the fault takes its target's process away, so that no other process fault fits on it."""
    return not isinstance(spec, Partition)


def as_value(spec: Fault) -> dict[str, object]:
    """The spec as it stands in the history and in schedule.json."""
    value: dict[str, object] = msgspec.to_builtins(spec)
    return value
