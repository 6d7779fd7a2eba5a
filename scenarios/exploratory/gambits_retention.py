"""exploratory/gambits-retention: segments removed for their age while copies end or have to truncate."""

from harness.vocabulary import LogWorkload, Mode, Scenario, Topology
from scenarios.gambit_schedules import mostly_gambits

SCENARIO = Scenario(
    summary="Segments rolled, and removed at an age of 15 seconds, while copies end or have to truncate.",
    why=(
        "Each copy decides by itself what is too old, and a follower that comes back may have to begin where "
        "the leader's log does by now. A defect here removes young records too, or leaves a hole in a log."
    ),
    schedule=mostly_gambits(
        {
            "interrupted-cleaning": 5,
            "interrupted-truncation": 4,
            "last-in-sync": 2,
            "all-copies": 2,
            "torn-writes": 1,
            "rolling-bounce": 1,
            "flapping": 1,
        },
    ),
    # Retention ends once the cluster has recovered, so that everything can be read that is left.
    topology=Topology(
        mode=Mode.ISOLATED,
        config={"log.retention.check.interval.ms": "500", "log.initial.task.delay.ms": "500"},
    ),
    workload=LogWorkload(
        config={"retention.ms": "15000", "segment.ms": "1000", "file.delete.delay.ms": "1000"},
    ),
    ticket="KIP-101, KIP-32",
)
