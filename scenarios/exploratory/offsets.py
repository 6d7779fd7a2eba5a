"""exploratory/offsets: committed offsets of groups under the chaos schedule."""

from harness.vocabulary import OffsetsWorkload, RandomSchedule, Scenario, Topology
from scenarios.blinks import BLINKS
from scenarios.cleaning import OFTEN_CLEANED
from scenarios.grouping import GROUP_BROKERS

SCENARIO = Scenario(
    summary="Both client libraries commit and fetch offsets of several groups, under faults of every kind.",
    why=(
        "Group coordinators move with the leaders of their partitions and load what their predecessors "
        "wrote. A defect here loses an acknowledged commit, or returns an old one."
    ),
    schedule=RandomSchedule(duration_ms=60_000, changes={"alter": 1}, blinks=BLINKS),
    topology=Topology(config=GROUP_BROKERS | OFTEN_CLEANED),
    workload=OffsetsWorkload(clients=18),
    ticket="KIP-98, KIP-101",
)
