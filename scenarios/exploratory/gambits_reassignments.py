"""exploratory/gambits-reassignments: partitions moved to brokers that are away, by short scripts."""

from harness.vocabulary import LogWorkload, Mode, Scenario, Topology
from scenarios.gambit_schedules import mostly_gambits

SCENARIO = Scenario(
    summary="Moves to brokers that are away or slow, completed, cancelled, overridden, leaders killed.",
    why=(
        "A move that can't end has replicas of before and of after, and whoever leads or controls may go in "
        "the middle: where a copy that is not in sync counts, or one that is wanted is removed."
    ),
    schedule=mostly_gambits(
        {
            "reassignment": 6,
            "cancelled-copy": 6,
            "cut-off-leader": 1,
            "flapping": 1,
            "rolling-bounce": 1,
        },
    ),
    # Two copies on four brokers leave two to move to.
    topology=Topology(mode=Mode.ISOLATED, brokers=4),
    workload=LogWorkload(replication_factor=2, min_insync_replicas=1),
    ticket="KIP-455",
)
