"""regressions/own-instance-id: a static member that got no answer when it joined joins again.

A member of KIP-848's protocol that gets no answer when it joins, or that was fenced, keeps its member id and
joins again with epoch 0.  A dynamic member then gets its assignment.  If a static member does that, the
coordinator compares its epoch with -2, but not its member id with that of the instance id's owner
(``GroupMetadataManager.throwIfInstanceIdIsUnreleased``).  So it answers UNRELEASED_INSTANCE_ID, because the
member itself has the instance id.  For kafka-clients this error is fatal.  Kafka's pull request 23542
describes the defect; it is not merged.
"""

from harness.vocabulary import (
    Expectation,
    FixedSchedule,
    GroupsWorkload,
    LostAnswers,
    Mode,
    Scenario,
    Step,
    Topology,
    Validity,
    broker,
)
from harness.vocabulary.workloads import JAVA_CLIENT
from scenarios.grouping import GROUP_BROKERS, SHORT_SESSIONS

_GROUP = "group-modern"

SCENARIO = Scenario(
    summary="Static members of KIP-848's protocol leave and rejoin while the answers to them are lost.",
    why=(
        "A member whose join was not answered can only ask again. The coordinator must recognise it as the "
        "member that has the instance id; otherwise the application gets a fatal error, though nobody else "
        "uses that id."
    ),
    schedule=FixedSchedule(
        steps=tuple(
            Step(8_000 + 9_000 * turn, 5_500, LostAnswers(broker(turn % 3 + 1))) for turn in range(6)
        ),
        duration_ms=64_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=3, config=GROUP_BROKERS | SHORT_SESSIONS),
    workload=GroupsWorkload(
        groups=(_GROUP,),
        member_libraries={_GROUP: (JAVA_CLIENT,)},
        modern=(_GROUP,),
        static=(_GROUP,),
        members=4,
        churn_interval_ms=700,
    ),
    versions_min="4.0.0",
    expectations=(
        Expectation(
            Validity.INVALID,
            ("static-member-refused",),
            why="read in the source of 4.0.0 to 4.4.0; Kafka's pull request 23542 is not merged",
        ),
    ),
    ticket="KIP-848, KIP-345",
)
