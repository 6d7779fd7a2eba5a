"""exploratory/metadata: topics and configs that change under the chaos schedule."""

from harness.vocabulary import MetadataWorkload, RandomSchedule, Scenario
from scenarios.blinks import BLINKS

SCENARIO = Scenario(
    summary=(
        "Topics are created, deleted and created again, configs change, every broker is asked for both, "
        "under faults of every kind."
    ),
    why=(
        "Controllers resign while changes are in progress, and brokers catch up from the log or a snapshot. "
        "A defect here loses an acknowledged change, brings back what was deleted, or uses a name for the "
        "wrong topic."
    ),
    schedule=RandomSchedule(duration_ms=60_000, changes={"alter": 1}, blinks=BLINKS),
    workload=MetadataWorkload(),
    ticket="KIP-500, KIP-595, KIP-631",
)
