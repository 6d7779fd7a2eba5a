"""exploratory/gambits-configs: who must be in sync and who may lead, switched while copies are away."""

from harness.vocabulary import LogWorkload, Mode, Scenario, Topology
from scenarios.gambit_schedules import mostly_gambits

SCENARIO = Scenario(
    summary=(
        "min.insync.replicas and unclean elections are switched while an ISR shrinks and its last one ends."
    ),
    why=(
        "The current configuration decides what is committed, who is eligible and who may lead. A defect "
        "here follows a configuration that is no longer in force, or ignores the one that is; or it changes "
        "an ISR at the late request of a process that has ended."
    ),
    schedule=mostly_gambits(
        {
            "switched-configs": 6,
            "stale-elected": 5,
            "eligible-again": 4,
            "late-reports": 4,
            "last-in-sync": 1,
            "held-follower": 1,
            "isr-and-controller": 1,
        },
        changes={},
    ),
    topology=Topology(mode=Mode.ISOLATED),
    workload=LogWorkload(min_insync_replicas=1),
    # Before, unclean.leader.election.enable was ignored (KAFKA-12670).
    versions_min="3.9.0",
    ticket="KIP-966, KAFKA-12670",
)
