"""exploratory/gambits-copies-power: copies of a partition lose power right after a write was acknowledged."""

from harness.vocabulary import DiskKind, Mode, Quorum, Scenario, Topology
from scenarios.gambit_schedules import mostly_gambits

SCENARIO = Scenario(
    summary="Two or all replicas of a partition lose power within 100 ms of an acknowledged write.",
    why=(
        "No replica syncs before an acknowledgement. A replica in sync that kept its records must not "
        "truncate them to what the others have left. If all replicas lose power, they must agree on what is "
        "left."
    ),
    schedule=mostly_gambits(
        {
            "copies-power": 6,
            "eligible-again": 4,
            "torn-writes": 4,
            "all-copies": 1,
            "last-in-sync": 1,
            "flapping": 1,
        },
        changes={},
    ),
    # In a dynamic quorum a young broker does not survive a loss of power: findings/power-loss-of-an-observer.
    topology=Topology(mode=Mode.ISOLATED, disk=DiskKind.LOOP_EXT4, quorum=Quorum.STATIC),
    versions_min="3.9.0",
    ticket="KIP-101, KIP-966",
)
