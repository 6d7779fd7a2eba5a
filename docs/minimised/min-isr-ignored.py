"""acked-below-min-isr in 8 of 8 (68 to 100 %) with 2 of 13 faults, 3 nodes, 15 s.

Minimised from run c775880d of exploratory/chaos, Kafka 4.3.1, with the seeded bug min-isr-ignored.
"""

from harness.vocabulary import (
    FixedSchedule,
    Kill,
    LogWorkload,
    Scenario,
    Step,
    Stop,
    Target,
    Topology,
)

SCENARIO = Scenario(
    summary="acked-below-min-isr, minimised from a run of exploratory/chaos.",
    why=(
        "A drawn schedule reaches combinations that nobody writes down, such as a leader that is killed while"
        " its successor is cut off, or a partition that moves to a broker whose disk was replaced."
    ),
    schedule=FixedSchedule(
        steps=(
            Step(at_ms=3_000, hold_ms=5_000, fault=Kill(target=Target.VOTER, draw=25_950)),
            Step(at_ms=3_744, hold_ms=5_000, fault=Stop(target=Target.PARTITION_LEADER, draw=49_724)),
        ),
        duration_ms=14_744,
    ),
    topology=Topology(initial_voters=3),
    workload=LogWorkload(partitions=1),
    kafka_version="4.3.1",
    ticket="KIP-98, KIP-101, KIP-455, KIP-460, KIP-595, KIP-853",
    keeps_draws=True,
)
