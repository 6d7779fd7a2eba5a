"""exploratory/gambits-groups: members come and go while coordinators of groups are taken away."""

from harness.vocabulary import GroupsWorkload, Mode, Scenario, Topology
from scenarios.gambit_schedules import mostly_gambits
from scenarios.grouping import GROUP_BROKERS, GROUP_GAMBITS

SCENARIO = Scenario(
    summary="Coordinators of groups are taken away and led back while members leave, stall and commit.",
    why=(
        "A new coordinator knows its members only from the log. A defect here concerns a rebalance or a "
        "commit that was in progress when the coordinator changed."
    ),
    schedule=mostly_gambits(GROUP_GAMBITS),
    topology=Topology(mode=Mode.ISOLATED, config=GROUP_BROKERS),
    workload=GroupsWorkload(),
    ticket="KIP-62, KIP-98, KIP-134",
)
