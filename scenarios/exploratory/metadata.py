"""exploratory/metadata: topics and configs that change under the chaos schedule."""

from harness.vocabulary import MetadataWorkload, RandomSchedule, Scenario
from scenarios.blinks import BLINKS

SCENARIO = Scenario(
    summary=(
        "Topics come, go and come again under their old names, configs change, every broker is asked for "
        "both, under faults of every kind."
    ),
    why=(
        "Controllers resign with changes under way, and brokers catch up from the log or a snapshot: where "
        "an acknowledged change is lost, what was deleted comes back, or a name stands for the wrong topic."
    ),
    schedule=RandomSchedule(duration_ms=60_000, changes={"alter": 1}, blinks=BLINKS),
    workload=MetadataWorkload(),
    ticket="KIP-500, KIP-595, KIP-631",
)
