"""exploratory/gambits-groups-mixed: a group whose members change between both protocols."""

from harness.vocabulary import GroupsWorkload, Mode, Scenario, Topology
from scenarios.gambit_schedules import mostly_gambits
from scenarios.grouping import GROUP_BROKERS, GROUP_GAMBITS, SHORT_SESSIONS

SCENARIO = Scenario(
    summary="Members of one group return with the classic or with KIP-848's protocol; coordinators move.",
    why=(
        "Kafka converts a group when a member of the other protocol joins it, and back when the last one "
        "leaves. A coordinator that fails meanwhile leaves records of both kinds in its log. A defect here "
        "loses a committed offset, or its successor can't load the group."
    ),
    schedule=mostly_gambits(GROUP_GAMBITS),
    topology=Topology(
        mode=Mode.ISOLATED,
        config={**GROUP_BROKERS, **SHORT_SESSIONS, "group.consumer.migration.policy": "bidirectional"},
    ),
    workload=GroupsWorkload(
        mixed=("group-confluent-kafka",),
        assignors=("uniform", "range"),
        offered=("range", "roundrobin"),
        patterns=1,
        churn_interval_ms=2_500,
    ),
    # Before, groups of KIP-848's protocol were a preview.
    versions_min="4.0.0",
    ticket="KIP-848",
)
