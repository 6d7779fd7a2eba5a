"""exploratory/upgrade-groups-modern: a drawn rolling upgrade under groups of both protocols."""

from harness.vocabulary import GroupsWorkload, Mode, RollingSchedule, Scenario, Topology
from scenarios.grouping import GROUP_BROKERS, SHORT_SESSIONS
from scenarios.upgrading import BETWEEN, HELD, WRITTEN, whole_under

LOAD = GroupsWorkload(
    producers=4,
    modern=("group-confluent-kafka",),
    instances=1,
    assignors=("uniform", "range"),
    patterns=1,
)
SCENARIO = Scenario(
    summary="Upgrade all nodes from 4.1.1 under groups of both protocols, with faults, or undo it half way.",
    why=(
        "Coordinators store what each member has, and since when (KIP-1251), in records that an older "
        "version writes and reads without the new fields. A defect gives a partition two owners, or accepts "
        "a commit of an old epoch."
    ),
    schedule=RollingSchedule(
        between=whole_under(LOAD), during=(WRITTEN,), features=("metadata.version", "group.version")
    ),
    topology=Topology(mode=Mode.ISOLATED, start_version=BETWEEN[0], config=GROUP_BROKERS | SHORT_SESSIONS),
    workload=LOAD,
    assumptions=HELD,
    # Before, groups of KIP-848's protocol were a preview.
    versions_min="4.0.0",
    ticket="KIP-584, KIP-848",
)
