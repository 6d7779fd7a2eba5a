"""exploratory/upgrade-share: a drawn rolling upgrade while members of a share group acknowledge records."""

import msgspec

from harness.vocabulary import Mode, RollingSchedule, Scenario, ShareWorkload, Topology
from scenarios.exploratory.share import SNAPSHOTS
from scenarios.sharing import DELAYED_WRITES, INITIALISED_AGAIN, share_brokers
from scenarios.upgrading import HELD, WRITTEN, whole_under

LOAD = ShareWorkload(producers=4)
SCENARIO = Scenario(
    summary="Upgrade all nodes from 4.2.1 under a share group, with faults, or undo it half way.",
    why=(
        "Leaders and coordinators of two versions hand the states of delivered records to each other. A "
        "defect here loses a record, or delivers one again that was accepted."
    ),
    schedule=RollingSchedule(
        between=whole_under(LOAD), during=(WRITTEN,), features=("metadata.version", "share.version")
    ),
    topology=Topology(mode=Mode.ISOLATED, start_version="4.2.1", config=share_brokers(LOAD) | SNAPSHOTS),
    workload=LOAD,
    assumptions=HELD,
    versions_min="4.2.0",
    expectations=(
        msgspec.structs.replace(DELAYED_WRITES, before=None, start_before="4.4.0"),
        INITIALISED_AGAIN,
    ),
    ticket="KIP-584, KIP-932",
)
