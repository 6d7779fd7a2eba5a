"""exploratory/share-dead-letters: share groups with dead-letter queues, under the faults of share."""

from harness.vocabulary import RandomSchedule, Scenario, ShareWorkload, Topology
from scenarios.blinks import NONE_LATE
from scenarios.exploratory.share import SNAPSHOTS
from scenarios.sharing import UNDER_FAULTS, share_brokers

WORKLOAD = ShareWorkload(groups=("share-0", "share-1"), members=3, delivery_limit=3, dead_letters=True)
SCENARIO = Scenario(
    summary="Share groups have dead-letter queues of records that are rejected or delivered too often.",
    why=(
        "The leader of a share partition writes dead letters while it stores states, and another leader goes "
        "on with it. A defect here makes a dead letter of a record that nobody rejected, or of another one."
    ),
    schedule=RandomSchedule(duration_ms=60_000, changes={"alter": 1}, blinks=NONE_LATE),
    topology=Topology(config=share_brokers(WORKLOAD) | SNAPSHOTS),
    workload=WORKLOAD,
    versions_min="4.4.0",
    expectations=UNDER_FAULTS,
    ticket="KIP-932, KIP-1191",
)
