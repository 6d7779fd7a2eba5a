"""exploratory/gambits-groups-modern: groups of KIP-848's protocol while coordinators are taken away."""

from harness.vocabulary import GroupsWorkload, Mode, Scenario, Topology
from scenarios.gambit_schedules import mostly_gambits

SCENARIO = Scenario(
    summary="A group of KIP-848's protocol and a classic one; coordinators move, members leave and stall.",
    why=(
        "The coordinator assigns partition by partition, and each member has an epoch of its own. After a "
        "coordinator moved, a defect gives a partition two owners, or accepts a commit of an old epoch."
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
        mode=Mode.ISOLATED,
        config={
            "offsets.topic.num.partitions": "6",
            "min.insync.replicas": "2",
            "group.consumer.session.timeout.ms": "6000",
            "group.consumer.min.session.timeout.ms": "6000",
            "group.consumer.heartbeat.interval.ms": "1000",
            "group.consumer.min.heartbeat.interval.ms": "1000",
        },
    ),
    workload=GroupsWorkload(modern=("group-confluent-kafka",)),
    # Before, groups of that protocol were a preview.
    versions_min="4.0.0",
    ticket="KIP-848",
)
