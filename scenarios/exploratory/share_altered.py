"""exploratory/share-altered: start offsets of share groups are set and deleted, under the faults of share."""

from harness.vocabulary import RandomSchedule, Scenario, ShareWorkload, Topology
from scenarios.blinks import NONE_LATE
from scenarios.exploratory.share import SNAPSHOTS
from scenarios.sharing import UNDER_FAULTS, share_brokers

WORKLOAD = ShareWorkload(groups=("share-0", "share-1"), members=2, alter_interval_ms=6_000)
SCENARIO = Scenario(
    summary="All members of a share group leave, and its start offsets are set or deleted; then they return.",
    why=(
        "A change of a start offset goes through the group's coordinator, a share coordinator and the "
        "leader, and each keeps the former state. A defect here delivers records below the new start offset, "
        "or skips records above it."
    ),
    schedule=RandomSchedule(
        duration_ms=75_000,
        # Time for breaks in which every broker answers.
        gap_ms=(5_000, 10_000),
        changes={"alter": 1},
        blinks=NONE_LATE,
    ),
    topology=Topology(config=share_brokers(WORKLOAD) | SNAPSHOTS),
    workload=WORKLOAD,
    versions_min="4.2.0",
    expectations=UNDER_FAULTS,
    ticket="KIP-932",
)
