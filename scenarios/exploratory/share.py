"""exploratory/share: share groups whose members release, stall and leave under the chaos schedule."""

from harness.vocabulary import RandomSchedule, Scenario, ShareWorkload, Topology
from scenarios.blinks import BLINKS
from scenarios.sharing import UNDER_FAULTS, share_brokers

WORKLOAD = ShareWorkload()
SNAPSHOTS = {"share.coordinator.snapshot.update.records.per.snapshot": "30"}
"""By default a share coordinator writes a snapshot after 500 changes, which is more than a run has."""
SCENARIO = Scenario(
    summary="Members of a share group accept, release, reject, stall and leave, under faults of every kind.",
    why=(
        "The states of delivered records are kept by the leader of a partition and stored by a coordinator, "
        "and both move. A defect here loses a record, or delivers one again that was accepted."
    ),
    schedule=RandomSchedule(duration_ms=60_000, changes={"alter": 1}, blinks=BLINKS),
    topology=Topology(config=share_brokers(WORKLOAD) | SNAPSHOTS),
    workload=WORKLOAD,
    versions_min="4.2.0",
    expectations=UNDER_FAULTS,
    ticket="KIP-932",
)
