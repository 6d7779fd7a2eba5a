"""exploratory/deletions: records are deleted from the beginning of the log under the chaos schedule."""

from harness.vocabulary import LogWorkload, RandomSchedule, Scenario
from scenarios.blinks import BLINKS

SCENARIO = Scenario(
    summary="The oldest records of some partition are deleted every second, under faults of every kind.",
    why=(
        "The answer to DeleteRecords waits until every live replica has moved the start of its log. A defect "
        "here returns deleted records, or removes records above the offset that was asked for."
    ),
    schedule=RandomSchedule(duration_ms=60_000, changes={"alter": 1}, blinks=BLINKS),
    workload=LogWorkload(deletions_interval_ms=1_000),
    ticket="KIP-107",
)
