"""exploratory/streams: an application of Kafka Streams with a streams group, under the chaos schedule."""

from harness.vocabulary import RandomSchedule, Scenario, StreamsWorkload, Topology
from scenarios.aborting import OFTEN_ABORTED
from scenarios.blinks import NONE_LATE
from scenarios.cleaning import OFTEN_CLEANED

WORKLOAD = StreamsWorkload()
SCENARIO = Scenario(
    summary="Members of Kafka Streams count records exactly once, and are closed and killed, under faults.",
    why=(
        "The coordinator of a streams group assigns tasks (KIP-1071), and each task has counts that are "
        "restored from a changelog. Output, changelog and offsets are committed in one transaction. A defect "
        "here counts a record twice, or not at all, or gives a task to two members."
    ),
    schedule=RandomSchedule(duration_ms=60_000, changes={"alter": 1}, blinks=NONE_LATE),
    topology=Topology(config=OFTEN_ABORTED | OFTEN_CLEANED | WORKLOAD.broker_config),
    workload=WORKLOAD,
    versions_min="4.2.0",
    ticket="KIP-1071, KIP-129, KIP-447",
)
