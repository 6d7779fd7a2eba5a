"""exploratory/gambits-compacted: copies end while they are cleaned and truncated, by short scripts."""

from harness.vocabulary import CompactedWorkload, Mode, Scenario, Topology
from scenarios.gambit_schedules import mostly_gambits

SCENARIO = Scenario(
    summary="Replicas of a compacted topic end while they are cleaned, and when they have to truncate.",
    why=(
        "A restart finds segments that were being replaced, checkpoints from before the cleaning, and a tail "
        "that other replicas do not have. A defect here loses the latest value of a key, or returns an older "
        "one."
    ),
    schedule=mostly_gambits(
        {
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
    topology=Topology(mode=Mode.ISOLATED, config={"log.cleaner.backoff.ms": "200"}),
    # One is enough to take writes, so that a leader that is cut off has what it must truncate.
    workload=CompactedWorkload(min_insync_replicas=1, transactors=4),
    ticket="KIP-58, KIP-98, KIP-101, KIP-354, KIP-534",
)
