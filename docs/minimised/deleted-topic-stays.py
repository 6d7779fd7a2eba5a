"""metadata-ack-lost in 8 of 8 (68 to 100 %) with 0 of 11 faults, 4 nodes, 9 s.

Minimised from run 1157b8db of exploratory/metadata, Kafka 4.3.1, with the seeded bug deleted-topic-stays.
"""

from harness.vocabulary import (
    FixedSchedule,
    MetadataWorkload,
    Mode,
    Scenario,
    Topology,
)

SCENARIO = Scenario(
    summary="metadata-ack-lost, minimised from a run of exploratory/metadata.",
    why=(
        "Controllers resign while changes are in progress, and brokers catch up from the log or a snapshot. A"
        " defect here loses an acknowledged change, brings back what was deleted, or uses a name for the "
        "wrong topic."
    ),
    schedule=FixedSchedule(steps=(), duration_ms=9_000),
    topology=Topology(mode=Mode.ISOLATED, controllers=1),
    workload=MetadataWorkload(partitions=1, clients=1, creators=1, viewers=1),
    kafka_version="4.3.1",
    ticket="KIP-500, KIP-595, KIP-631",
    keeps_draws=True,
)
