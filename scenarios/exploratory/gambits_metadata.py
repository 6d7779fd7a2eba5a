"""exploratory/gambits-metadata: topics removed and created again while a broker with copies is away."""

from harness.vocabulary import MetadataWorkload, Mode, Scenario, Topology
from scenarios.gambit_schedules import mostly_gambits
from scenarios.reassigning import LISTED_UNCOMMITTED

SCENARIO = Scenario(
    summary="Topics are created, deleted and created again while a broker or controllers are away.",
    why=(
        "A broker that comes back has folders of topics that were deleted, and of topics with the same name "
        "as new ones. A defect here shows old records in a new topic, or brings back what was deleted."
    ),
    schedule=mostly_gambits(
        {
            "absent-replica": 6,
            "cut-off-controller": 2,
            "uncommitted-changes": 3,
            "colliding-elections": 2,
            "isr-and-controller": 1,
            "all-brokers": 1,
            "flapping": 1,
            "rolling-bounce": 1,
        },
    ),
    topology=Topology(mode=Mode.ISOLATED),
    workload=MetadataWorkload(),
    expectations=(LISTED_UNCOMMITTED,),
    ticket="KIP-500, KIP-516, KIP-595, KIP-631",
)
