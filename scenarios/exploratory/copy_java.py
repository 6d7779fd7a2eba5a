"""exploratory/copy-java: the schedule of copy, with members of Kafka's own client as well."""

from harness.vocabulary import CopyWorkload, RandomSchedule, Scenario, Topology
from scenarios.aborting import OFTEN_ABORTED
from scenarios.blinks import NONE_LATE
from scenarios.cleaning import OFTEN_CLEANED
from scenarios.exploratory.chaos_java import LIBRARIES

SCENARIO = Scenario(
    summary="A group of three client libraries, Kafka's own among them, copies a topic exactly once.",
    why=(
        "Most applications that consume, transform and produce use kafka-clients, and only its transactions "
        "are of version 2 (KIP-890): no request adds the group to them. Members with either version hand "
        "partitions over to each other, so the coordinators complete offsets of both in one group."
    ),
    schedule=RandomSchedule(duration_ms=60_000, changes={"alter": 1}, blinks=NONE_LATE),
    topology=Topology(config=OFTEN_ABORTED | OFTEN_CLEANED),
    workload=CopyWorkload(
        libraries=LIBRARIES, final_clients=LIBRARIES, consumers=6, transactors=6, lapsing=3
    ),
    ticket="KIP-98, KIP-447, KIP-890",
)
