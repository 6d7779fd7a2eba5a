"""exploratory/copy: consume, transform, produce under the chaos schedule."""

from harness.vocabulary import CopyWorkload, RandomSchedule, Scenario, Topology
from scenarios.aborting import OFTEN_ABORTED
from scenarios.blinks import NONE_LATE
from scenarios.cleaning import OFTEN_CLEANED

SCENARIO = Scenario(
    summary=(
        "A group copies a topic to another one and commits its offsets in the transactions, under faults."
    ),
    why=(
        "Members leave and come back, the coordinators of the group and of transactions move, and a "
        "transaction has both the copies and the offsets. A defect here copies a record twice, or not at "
        "all."
    ),
    schedule=RandomSchedule(duration_ms=60_000, changes={"alter": 1}, blinks=NONE_LATE),
    topology=Topology(config=OFTEN_ABORTED | OFTEN_CLEANED),
    workload=CopyWorkload(),
    ticket="KIP-98, KIP-447",
)
