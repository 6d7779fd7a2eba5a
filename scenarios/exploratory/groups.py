"""exploratory/groups: consumer groups whose members come and go under the chaos schedule."""

from harness.vocabulary import GroupsWorkload, RandomSchedule, Scenario, Topology
from scenarios.blinks import BLINKS

SCENARIO = Scenario(
    summary="Members of groups leave, stall, come back too late and commit, under faults of every kind.",
    why=(
        "Coordinators move while a rebalance is under way and while members commit: where a group passes "
        "over records, goes back, or accepts what a member commits that it went on without."
    ),
    schedule=RandomSchedule(duration_ms=60_000, changes={"alter": 1}, blinks=BLINKS),
    topology=Topology(config={"offsets.topic.num.partitions": "6", "min.insync.replicas": "2"}),
    workload=GroupsWorkload(),
    ticket="KIP-62, KIP-134",
)
