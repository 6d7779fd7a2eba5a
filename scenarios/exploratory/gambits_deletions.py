"""exploratory/gambits-deletions: small segments, removed as their records are deleted, while copies end."""

from harness.vocabulary import LogWorkload, Mode, Scenario, Topology
from scenarios.gambit_schedules import mostly_gambits

SCENARIO = Scenario(
    summary="Segments are rolled, and deleted on request, while replicas end or have to truncate.",
    why=(
        "The start of a log is kept in a checkpoint, apart from the segments that are deleted or truncated. "
        "After a restart between these steps, a defect returns deleted records, or loses others."
    ),
    schedule=mostly_gambits(
        {
            "trimmed-log": 6,
            "trimmed-while-held": 4,
            "torn-writes": 3,
            "interrupted-cleaning": 5,
            "interrupted-truncation": 4,
            "all-copies": 2,
            "held-follower": 1,
            "last-in-sync": 1,
            "flapping": 1,
            "rolling-bounce": 1,
        },
    ),
    # What lies below a log's beginning is looked for so often. Nothing is removed by age: that would go on
    # while everything is read at the end.
    topology=Topology(
        mode=Mode.ISOLATED,
        config={"log.retention.check.interval.ms": "500", "log.initial.task.delay.ms": "500"},
    ),
    workload=LogWorkload(
        min_insync_replicas=1,
        deletions_interval_ms=300,
        config={"segment.ms": "1000", "file.delete.delay.ms": "1000"},
    ),
    ticket="KIP-101, KIP-107",
)
