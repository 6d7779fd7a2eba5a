"""exploratory/upgrade-failures: a drawn rolling upgrade; others fail while a node is away for its version."""

import msgspec

from harness.vocabulary import Mode, RollingSchedule, Scenario, Topology
from scenarios.upgrading import FEW, LOAD, OLDEST, WHOLE, WRITTEN

SCENARIO = Scenario(
    summary="Upgrade all nodes from 3.9.0; while one is away, others fail, with or without a majority left.",
    why=(
        "An operator upgrades one node at a time because others can fail meanwhile. If the quorum loses its "
        "majority then, the first leader may be a node that has just started on the other version."
    ),
    schedule=RollingSchedule(
        between=WHOLE,
        during=(WRITTEN,),
        fault_chance=0.0,
        away_chance=0.8,
        kinds=("partition", "kill", "pause"),
        hold_ms=(5_000, 8_000),
        duration_ms=140_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, start_version=OLDEST),
    workload=msgspec.structs.replace(LOAD, producers=8),
    assumptions=FEW,
    versions_min="3.9.0",
    ticket="KIP-584, KIP-595, KIP-778",
)
