"""regressions/kafka-20601-full-group: a static member finds room in its own group when it comes back.

Up to 4.3 the coordinator of a group of KIP-848's protocol looks for the id of a joining member, which is new,
before it looks for its instance id.  If the group has as many members as it may have, the member that would
replace its predecessor is refused until the predecessor's session has expired.
"""

from harness.vocabulary import Expectation, FixedSchedule, GroupsWorkload, Mode, Scenario, Topology, Validity
from scenarios.grouping import SHORT_SESSIONS

_GROUP = "group-confluent-kafka"

SCENARIO = Scenario(
    summary="Static members leave and rejoin a group of KIP-848's protocol that is as large as permitted.",
    why=(
        "A static member keeps its place while it is away. The group is full, so the member that comes back "
        "must be admitted to its own place; otherwise nobody reads its partitions until its session expires."
    ),
    schedule=FixedSchedule(steps=(), duration_ms=30_000),
    topology=Topology(
        mode=Mode.ISOLATED, controllers=1, config={"group.consumer.max.size": "3", **SHORT_SESSIONS}
    ),
    workload=GroupsWorkload(modern=(_GROUP,), static=(_GROUP,), members=3, churn_interval_ms=1_500),
    versions_min="4.0.0",
    expectations=(
        Expectation(
            Validity.INVALID,
            ("static-member-refused",),
            before="4.3.2",
            why="KAFKA-20601: fixed in 4.3.2 and 4.4.0",
        ),
    ),
    ticket="KAFKA-20601",
)
