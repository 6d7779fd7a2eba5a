"""exploratory/share: share groups whose members release, stall and leave under the chaos schedule."""

from harness.vocabulary import RandomSchedule, Scenario, ShareWorkload, Topology
from scenarios.blinks import BLINKS

WORKLOAD = ShareWorkload()
SCENARIO = Scenario(
    summary="Members of a share group accept, release, reject, stall and leave, under faults of every kind.",
    why=(
        "The states of delivered records are kept by the leader of a partition and stored by a coordinator, "
        "and both move. A defect here loses a record, or delivers one again that was accepted."
    ),
    schedule=RandomSchedule(duration_ms=60_000, changes={"alter": 1}, blinks=BLINKS),
    topology=Topology(
        config={
            "min.insync.replicas": "2",
            "share.coordinator.state.topic.num.partitions": "6",
            "share.coordinator.state.topic.replication.factor": "3",
            "share.coordinator.state.topic.min.isr": "2",
            "group.share.initialize.retry.interval.ms": "5000",
            "group.share.min.record.lock.duration.ms": "1000",
        }
        | WORKLOAD.broker_config
    ),
    workload=WORKLOAD,
    versions_min="4.2.0",
    ticket="KIP-932",
)
