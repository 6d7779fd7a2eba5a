"""exploratory/gambits-share: share groups whose coordinators and leaders are taken away or moved."""

import msgspec

from harness.vocabulary import DiskKind, Mode, Quorum, Scenario, ShareWorkload, Topology
from scenarios.exploratory.share import SNAPSHOTS
from scenarios.gambit_schedules import mostly_gambits
from scenarios.reassigning import LISTED_UNCOMMITTED
from scenarios.sharing import UNDER_FAULTS, share_brokers

WORKLOAD = ShareWorkload(groups=("share-0", "share-1"), members=3)
_WITH_LISTINGS = tuple(
    msgspec.structs.replace(
        one,
        anomalies=(*one.anomalies, *LISTED_UNCOMMITTED.anomalies),
        why=f"{one.why}; {LISTED_UNCOMMITTED.why}",
    )
    for one in UNDER_FAULTS
)
SCENARIO = Scenario(
    summary="Share coordinators and leaders fail, move and lose disks or power, under two groups of a topic.",
    why=(
        "A new leader knows the states of delivered records only from the share coordinator, and a new "
        "coordinator only from its log. A defect here loses a record, delivers one again that was accepted, "
        "or lets one group change what another gets."
    ),
    schedule=mostly_gambits(
        {
            "share-coordinator": 6,
            "moved-share-coordinator": 4,
            "moved-leader": 4,
            "group-coordinator": 2,
            "lost-answers": 2,
            "cut-off-leader": 1,
            "flapping": 1,
            "rolling-bounce": 1,
        },
        gambit_share=0.75,
        disks={"power": 3, "broker-disk": 2},
        disk_share=0.7,
        operations={"elect-preferred": 1},
    ),
    # In a dynamic quorum a young broker does not survive a loss of power: findings/power-loss-of-an-observer.
    topology=Topology(
        mode=Mode.ISOLATED,
        brokers=4,
        disk=DiskKind.LOOP_EXT4,
        quorum=Quorum.STATIC,
        config=share_brokers(WORKLOAD) | SNAPSHOTS,
    ),
    workload=WORKLOAD,
    versions_min="4.2.0",
    expectations=_WITH_LISTINGS,
    ticket="KIP-932",
)
