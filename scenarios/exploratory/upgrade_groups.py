"""exploratory/upgrade-groups: a drawn rolling upgrade while members of classic groups consume and commit."""

from harness.vocabulary import GroupsWorkload, Mode, RollingSchedule, Scenario, Topology
from scenarios.grouping import GROUP_BROKERS
from scenarios.upgrading import HELD, OLDEST, WRITTEN, whole_under

LOAD = GroupsWorkload(producers=4)
SCENARIO = Scenario(
    summary="Upgrade all nodes from 3.9.0 while classic groups consume, with faults, or undo it half way.",
    why=(
        "Kafka 4.0 has another group coordinator. The offsets and members that the former one wrote to the "
        "log are loaded by the new one, and the other way around if the upgrade is undone."
    ),
    schedule=RollingSchedule(
        between=whole_under(LOAD), during=(WRITTEN,), features=("metadata.version", "group.version")
    ),
    topology=Topology(mode=Mode.ISOLATED, start_version=OLDEST, config=GROUP_BROKERS),
    workload=LOAD,
    assumptions=HELD,
    # Before, brokers do not support the groups of KIP-848 that are enabled at the end.
    versions_min="4.0.0",
    ticket="KIP-62, KIP-584, KIP-848",
)
