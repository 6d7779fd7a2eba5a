"""candidate-without-majority in 8 of 8 (68 to 100 %) with 0 of 27 faults, 6 nodes, 9 s.

Minimised from run 7a2ab0db of exploratory/gambits-retention, Kafka 4.3.1, with the seeded bug
pre-vote-not-awaited.
"""

from harness.vocabulary import (
    FixedSchedule,
    LogWorkload,
    Mode,
    Scenario,
    Topology,
)

SCENARIO = Scenario(
    summary="candidate-without-majority, minimised from a run of exploratory/gambits-retention.",
    why=(
        "Each replica decides by itself which segments are too old. A follower that comes back may have to "
        "start where the leader's log starts by now. A defect here deletes young records too, or leaves a "
        "hole in a log."
    ),
    schedule=FixedSchedule(steps=(), duration_ms=9_000),
    topology=Topology(
        mode=Mode.ISOLATED,
        config={"log.retention.check.interval.ms": "500", "log.initial.task.delay.ms": "500"},
    ),
    workload=LogWorkload(
        partitions=1,
        producers=1,
        consumers=1,
        config={"retention.ms": "15000", "segment.ms": "1000", "file.delete.delay.ms": "1000"},
    ),
    kafka_version="4.3.1",
    ticket="KIP-101, KIP-32",
    keeps_draws=True,
)
