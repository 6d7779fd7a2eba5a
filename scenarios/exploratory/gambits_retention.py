"""exploratory/gambits-retention: segments removed for their age while copies end or have to truncate."""

from harness.vocabulary import LogWorkload, Mode, Scenario, Topology
from scenarios.gambit_schedules import mostly_gambits

SCENARIO = Scenario(
    summary=(
        "Segments are rolled, and deleted at an age of 15 seconds, while replicas end or have to truncate."
    ),
    why=(
        "Each replica decides by itself which segments are too old. A follower that comes back may have to "
        "start where the leader's log starts by now. A defect here deletes young records too, or leaves a "
        "hole in a log."
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
