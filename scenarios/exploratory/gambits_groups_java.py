"""exploratory/gambits-groups-java: groups whose members use several libraries, Kafka's own among them."""

from harness.vocabulary import Expectation, GroupsWorkload, Mode, Scenario, Topology, Validity
from scenarios.exploratory.chaos_java import LIBRARIES
from scenarios.gambit_schedules import mostly_gambits
from scenarios.grouping import GROUP_BROKERS, SHORT_SESSIONS, STATIC_GAMBITS

SCENARIO = Scenario(
    summary="Two groups of Kafka's own client and other libraries, one with KIP-848; coordinators move.",
    why=(
        "Most applications use kafka-clients. It commits again after an error, reconciles assignments in the "
        "background, and shares each group with members that ask in another order. A coordinator that serves "
        "one library well may give the next one a partition too early, or lose a commit of it."
    ),
    schedule=mostly_gambits(STATIC_GAMBITS),
    topology=Topology(mode=Mode.ISOLATED, config=GROUP_BROKERS | SHORT_SESSIONS),
    workload=GroupsWorkload(
        groups=("group-classic", "group-modern"),
        member_libraries={
            "group-classic": LIBRARIES[::-1],
            "group-modern": ("kafka-clients", "confluent-kafka"),
        },
        modern=("group-modern",),
        instances=1,
        assignors=("uniform", "range"),
        patterns=1,
    ),
    # Before, groups of that protocol were a preview, and the library had no expressions for brokers.
    versions_min="4.0.0",
    expectations=(
        Expectation(
            Validity.VALID,
            ("static-member-refused",),
            why="Kafka's pull request 23542, open: a static member that got no answer is refused",
        ),
    ),
    ticket="KIP-848",
)
