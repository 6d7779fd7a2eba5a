"""exploratory/upgrade: a drawn rolling upgrade, with faults between its steps, that may be undone."""

import msgspec

from harness.vocabulary import Mode, RollingSchedule, Scenario, Topology
from scenarios.upgrading import HELD, LOAD, OLDEST, WHOLE, WRITTEN

SCENARIO = Scenario(
    summary="Upgrade all nodes from 3.9.0 under load, with faults in between, or undo it half way.",
    why=(
        "While nodes of two versions serve one cluster, each reads what the other wrote. The order of the "
        "upgrades and the faults between them decide which version leads and which one follows."
    ),
    schedule=RollingSchedule(between=WHOLE, during=(WRITTEN,)),
    topology=Topology(mode=Mode.ISOLATED, start_version=OLDEST),
    # Twice the producers of the scripts: a fault may hold up each of them for some seconds.
    workload=msgspec.structs.replace(LOAD, producers=4),
    assumptions=HELD,
    versions_min="3.9.0",
    ticket="KIP-584, KIP-778",
)
