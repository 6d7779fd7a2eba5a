"""exploratory/gambits-reassignments: partitions moved to brokers that are away, by short scripts."""

from harness.vocabulary import LogWorkload, Mode, Scenario, Topology
from scenarios.gambit_schedules import mostly_gambits
from scenarios.reassigning import LISTED_UNCOMMITTED

SCENARIO = Scenario(
    summary=(
        "Reassignments to absent or slow brokers are completed, cancelled, overridden; leaders are killed."
    ),
    why=(
        "A reassignment that can't end has old and new replicas, and its leader or controller may be lost in "
        "the middle. A defect here counts a replica that is not in sync, or removes one that is wanted."
    ),
    schedule=mostly_gambits(
        {
            "reassignment": 6,
            "cancelled-copy": 6,
            "kept-leader": 5,
            "cut-off-leader": 1,
            "flapping": 1,
            "rolling-bounce": 1,
        },
    ),
    # Two copies on four brokers leave two to move to.
    topology=Topology(mode=Mode.ISOLATED, brokers=4),
    workload=LogWorkload(replication_factor=2, min_insync_replicas=1),
    expectations=(LISTED_UNCOMMITTED,),
    ticket="KIP-455",
)
