"""exploratory/upgrade-power: a drawn rolling upgrade; nodes lose power right after their start."""

import msgspec

from harness.vocabulary import DiskKind, Mode, Quorum, RollingSchedule, Scenario, Topology
from scenarios.upgrading import FEW, LOAD, OLDEST, WHOLE, WRITTEN

SCENARIO = Scenario(
    summary="Upgrade all nodes from 3.9.0; each may lose power right after its start, or a majority does.",
    why=(
        "A node that starts on another version writes votes, snapshots and checkpoints in its own way. What "
        "the quorum has committed must be on disk in a form that survives a loss of power, in both versions."
    ),
    schedule=RollingSchedule(
        between=WHOLE,
        during=(WRITTEN,),
        fault_chance=0.0,
        power_chance=0.7,
        hold_ms=(5_000, 8_000),
        duration_ms=140_000,
    ),
    # In a dynamic quorum a young broker does not survive a loss of power: findings/power-loss-of-an-observer.
    topology=Topology(
        mode=Mode.ISOLATED, start_version=OLDEST, quorum=Quorum.STATIC, disk=DiskKind.LOOP_EXT4
    ),
    workload=msgspec.structs.replace(LOAD, producers=8),
    assumptions=FEW,
    versions_min="3.9.0",
    ticket="KIP-584, KIP-595, KIP-778",
)
