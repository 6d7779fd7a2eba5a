"""smoke/partition: the demo, about a minute of load with a partition, a kill and a pause."""

from harness.vocabulary import (
    Assumptions,
    FixedSchedule,
    Kill,
    Partition,
    Pattern,
    Pause,
    Scenario,
    Step,
    Target,
)

SCENARIO = Scenario(
    summary="Cut the active controller off, kill the leader of a partition, pause a random node.",
    why=(
        "Each fault takes a role away that the cluster must hand over: the quorum's leader, a partition's "
        "leader, any follower. So controller election, leader election and ISR shrinking all happen."
    ),
    schedule=FixedSchedule(
        steps=(
            Step(4_000, 8_000, Partition(Pattern.ISOLATE_ONE, Target.ACTIVE_CONTROLLER)),
            Step(18_000, 7_000, Kill(Target.PARTITION_LEADER)),
            Step(31_000, 7_000, Pause(Target.RANDOM)),
        ),
        duration_ms=45_000,
    ),
    assumptions=Assumptions(
        invoked_during=5, why_lowered="the node that is cut off may lead every partition"
    ),
    ticket="KIP-595, KIP-631",
)
