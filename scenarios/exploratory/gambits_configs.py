"""exploratory/gambits-configs: who must be in sync and who may lead, switched while copies are away."""

from harness.vocabulary import LogWorkload, Mode, RandomSchedule, Scenario, Topology

SCENARIO = Scenario(
    summary="min.insync.replicas and unclean elections switched while an ISR shrinks and its last one goes.",
    why=(
        "What is committed, who is eligible and who may lead are decided by limits of the moment: where one "
        "that was in force a moment ago is obeyed, or one that is in force is not."
    ),
    schedule=RandomSchedule(
        duration_ms=60_000,
        gap_ms=(0, 1_000),
        gambits={"switched-configs": 6, "last-in-sync": 2, "held-follower": 1, "isr-and-controller": 1},
        gambit_share=0.92,
        operations={"elect-preferred": 1},
    ),
    topology=Topology(mode=Mode.ISOLATED),
    workload=LogWorkload(min_insync_replicas=1),
    # Before, unclean.leader.election.enable was ignored (KAFKA-12670).
    versions_min="3.9.0",
    ticket="KIP-966, KAFKA-12670",
)
