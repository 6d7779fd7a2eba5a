"""exploratory/gambits-groups-mixed: a group whose members change between both protocols."""

from harness.vocabulary import GroupsWorkload, Mode, Scenario, Topology
from scenarios.gambit_schedules import mostly_gambits

SCENARIO = Scenario(
    summary="Members of one group return with the classic or with KIP-848's protocol; coordinators move.",
    why=(
        "Kafka converts a group when a member of the other protocol joins it, and back when the last one "
        "leaves. A coordinator that fails meanwhile leaves records of both kinds in its log. A defect here "
        "loses a committed offset, or its successor can't load the group."
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
            "group.consumer.migration.policy": "bidirectional",
            "group.consumer.session.timeout.ms": "6000",
            "group.consumer.min.session.timeout.ms": "6000",
            "group.consumer.heartbeat.interval.ms": "1000",
            "group.consumer.min.heartbeat.interval.ms": "1000",
        },
    ),
    workload=GroupsWorkload(mixed=("group-confluent-kafka",), churn_interval_ms=2_500),
    # Before, groups of KIP-848's protocol were a preview.
    versions_min="4.0.0",
    ticket="KIP-848",
)
