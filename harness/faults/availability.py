"""Which faults a topology can have; pure."""

from harness.vocabulary.faults import (
    Among,
    DeadDisk,
    Fault,
    HeldReports,
    LossPattern,
    PacketLoss,
    Partition,
    Pattern,
    PowerLoss,
    WipeDisk,
)
from harness.vocabulary.topology import DiskKind, Mode, Topology

_BRIDGE_NODES_MIN = 3
PERCENT = (10, 90)
"""Bounds of what may be lost: by less a probe seldom sees a loss, by more seldom anything that arrives."""


def unavailable_because(spec: Fault, topology: Topology) -> str | None:
    """Why this topology can't have the fault; None if it can."""
    if isinstance(spec, WipeDisk | DeadDisk) and not 1 <= (spec.log_dir or 1) <= topology.log_dirs:
        return f"there is no log directory {spec.log_dir}, the topology has {topology.log_dirs}"
    if isinstance(spec, PowerLoss | DeadDisk) and topology.disk is DiskKind.FOLDER:
        return "power loss and a dead disk need disks that are file systems: loop-ext4 or loop-xfs"
    if isinstance(spec, HeldReports) and topology.mode is Mode.COMBINED:
        return "in combined mode a broker's connections to controllers are those of a voter too"
    if isinstance(spec, PacketLoss) and not PERCENT[0] <= spec.percent <= PERCENT[1]:
        return f"of a hundred packets {PERCENT[0]} to {PERCENT[1]} can be lost, not {spec.percent}"
    return _links_unavailable(spec, topology) if isinstance(spec, Partition | PacketLoss) else None


def _links_unavailable(spec: Partition | PacketLoss, topology: Topology) -> str | None:
    if spec.pattern is LossPattern.CLIENTS:
        return None
    if spec.among is not Among.ALL and topology.mode is Mode.COMBINED:
        return (
            f"in combined mode controllers and brokers share an address, so {spec.among} can't be cut alone"
        )
    sizes = {Among.CONTROLLERS: topology.controllers, Among.BROKERS: topology.brokers}
    size = sizes.get(spec.among, len(topology.nodes()))
    needed = _BRIDGE_NODES_MIN if spec.pattern in (Pattern.BRIDGE, Pattern.MAJORITY_RING) else 2
    if size < needed:
        kind = "partition" if isinstance(spec, Partition) else "loss of packets"
        return f"a {spec.pattern} {kind} needs {needed} nodes, there are {size}"
    return None
