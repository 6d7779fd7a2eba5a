"""exploratory/share-renewed: members of share groups renew their locks, under the faults of share."""

from harness.vocabulary import RandomSchedule, Scenario, ShareWorkload, Topology
from scenarios.blinks import NONE_LATE
from scenarios.exploratory.share import SNAPSHOTS
from scenarios.sharing import UNDER_FAULTS, share_brokers

WORKLOAD = ShareWorkload(groups=("share-0", "share-1"), members=3, renew_share=0.3, lock_ms=3_000)
SCENARIO = Scenario(
    summary="Members of share groups renew their locks, and hold records for longer than one lock.",
    why=(
        "A renewal cancels the timer of a lock and starts another one, for some records of a batch or all. "
        "A defect here gives a record to two members, or takes it from one that renewed its lock in time."
    ),
    schedule=RandomSchedule(
        duration_ms=60_000,
        # Time for renewals that no fault affects.
        gap_ms=(5_000, 10_000),
        changes={"alter": 1},
        blinks=NONE_LATE,
    ),
    topology=Topology(config=share_brokers(WORKLOAD) | SNAPSHOTS),
    workload=WORKLOAD,
    versions_min="4.2.0",
    expectations=UNDER_FAULTS,
    ticket="KIP-932, KIP-1222",
)
