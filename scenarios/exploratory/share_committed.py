"""exploratory/share-committed: a share group that gets only committed records, under the faults of share."""

from harness.vocabulary import RandomSchedule, Scenario, ShareWorkload, Topology
from scenarios.aborting import OFTEN_ABORTED
from scenarios.blinks import NONE_LATE
from scenarios.exploratory.share import SNAPSHOTS
from scenarios.sharing import UNDER_FAULTS, share_brokers

WORKLOAD = ShareWorkload(transactors=3, committed=("share-0",))
SCENARIO = Scenario(
    summary="A share group reads committed records while transactions commit and abort, under every fault.",
    why=(
        "With read_committed the leader of a share partition leaves out the records of aborted transactions, "
        "and waits for transactions that are open. A defect here delivers an aborted record, or loses a "
        "committed one next to it."
    ),
    schedule=RandomSchedule(duration_ms=60_000, changes={"alter": 1}, blinks=NONE_LATE),
    topology=Topology(config=share_brokers(WORKLOAD) | SNAPSHOTS | OFTEN_ABORTED),
    workload=WORKLOAD,
    versions_min="4.2.0",
    expectations=UNDER_FAULTS,
    ticket="KIP-932, KIP-98",
)
