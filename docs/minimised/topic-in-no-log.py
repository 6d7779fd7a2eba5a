"""metadata-ack-lost in 8 of 8 (68 to 100 %) with 0 of 28 faults, 4 nodes, 9 s.

Minimised from run a2f00110 of exploratory/gambits-metadata, Kafka 4.3.1, with the seeded bug topic-in-no-log.
"""

from harness.vocabulary import (
    FixedSchedule,
    MetadataWorkload,
    Mode,
    Scenario,
    Topology,
)

SCENARIO = Scenario(
    summary="metadata-ack-lost, minimised from a run of exploratory/gambits-metadata.",
    why=(
        "A broker that comes back has folders of topics that were deleted, and of topics with the same name "
        "as new ones. A defect here shows old records in a new topic, or brings back what was deleted."
    ),
    schedule=FixedSchedule(steps=(), duration_ms=9_000),
    topology=Topology(mode=Mode.ISOLATED, controllers=1),
    workload=MetadataWorkload(partitions=1, clients=1, creators=1, viewers=1),
    kafka_version="4.3.1",
    ticket="KIP-500, KIP-516, KIP-595, KIP-631",
    keeps_draws=True,
)
