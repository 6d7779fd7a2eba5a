"""exploratory/gambits-groups: members come and go while coordinators of groups are taken away."""

from harness.vocabulary import GroupsWorkload, Mode, Scenario, Topology
from scenarios.gambit_schedules import mostly_gambits

SCENARIO = Scenario(
    summary="Coordinators of groups are taken away and led back while members leave, stall and commit.",
    why=(
        "A new coordinator knows its members only from the log. A defect here concerns a rebalance or a "
        "commit that was in progress when the coordinator changed."
    ),
    schedule=mostly_gambits(
        {
            "group-coordinator": 6,
            "all-copies": 1,
            "held-follower": 1,
            "cut-off-leader": 1,
            "lost-answers": 2,
            "flapping": 1,
            "rolling-bounce": 1,
            "isr-and-controller": 1,
        },
    ),
    topology=Topology(
        mode=Mode.ISOLATED, config={"offsets.topic.num.partitions": "6", "min.insync.replicas": "2"}
    ),
    workload=GroupsWorkload(),
    ticket="KIP-62, KIP-98, KIP-134",
)
