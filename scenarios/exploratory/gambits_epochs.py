"""exploratory/gambits-epochs: leaders append records, or request an ISR, that no other node gets."""

from harness.vocabulary import LogWorkload, Mode, Scenario, Topology
from scenarios.gambit_schedules import mostly_gambits
from scenarios.reassigning import LISTED_UNCOMMITTED

SCENARIO = Scenario(
    summary=(
        "Replicas that can't fetch from each other lead in turn; leaders can't report followers that lag."
    ),
    why=(
        "A replica then has whole epochs that the next leader lacks, or is in sync only by the controllers' "
        "record. A defect here keeps records that must be removed, removes others, or acknowledges records "
        "that the next leader does not have."
    ),
    schedule=mostly_gambits(
        {
            "held-shrink": 6,
            "lone-epochs": 4,
            "alternating-leaders": 4,
            "uncommitted-changes": 2,
            "cut-off-leader": 1,
            "interrupted-truncation": 1,
            "flapping": 1,
        },
    ),
    topology=Topology(mode=Mode.ISOLATED),
    # One replica is enough to take writes, so a leader takes them although no other replica can fetch.
    workload=LogWorkload(min_insync_replicas=1),
    expectations=(LISTED_UNCOMMITTED,),
    ticket="KIP-101, KIP-595",
)
