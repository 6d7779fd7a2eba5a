"""exploratory/gambits-groups-modern: groups of KIP-848's protocol while coordinators are taken away."""

from harness.vocabulary import GroupsWorkload, Mode, Scenario, Topology
from scenarios.gambit_schedules import mostly_gambits
from scenarios.grouping import GROUP_BROKERS, SHORT_SESSIONS, STATIC_GAMBITS

SCENARIO = Scenario(
    summary="A group of KIP-848's protocol and a classic one; coordinators move, members leave and stall.",
    why=(
        "The coordinator assigns partition by partition, and each member has an epoch of its own. After a "
        "coordinator moved, a defect gives a partition two owners, or accepts a commit of an old epoch."
    ),
    schedule=mostly_gambits(STATIC_GAMBITS),
    topology=Topology(mode=Mode.ISOLATED, config=GROUP_BROKERS | SHORT_SESSIONS),
    workload=GroupsWorkload(
        modern=("group-confluent-kafka",), instances=1, assignors=("uniform", "range"), patterns=1
    ),
    # Before, groups of that protocol were a preview.
    versions_min="4.0.0",
    ticket="KIP-848",
)
