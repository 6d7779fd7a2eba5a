"""exploratory/groups: consumer groups whose members come and go under the chaos schedule."""

from harness.vocabulary import GroupsWorkload, RandomSchedule, Scenario, Topology
from scenarios.blinks import BLINKS
from scenarios.grouping import GROUP_BROKERS

SCENARIO = Scenario(
    summary="Members of groups leave, stall, return too late and commit, under faults of every kind.",
    why=(
        "Coordinators move during rebalances and while members commit. A defect here makes a group skip "
        "records, go back, or accept a commit of a member that the group has replaced."
    ),
    schedule=RandomSchedule(duration_ms=60_000, changes={"alter": 1}, blinks=BLINKS),
    topology=Topology(config=GROUP_BROKERS),
    workload=GroupsWorkload(),
    ticket="KIP-62, KIP-134",
)
