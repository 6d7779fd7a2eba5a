"""findings/offsets-before-failover: a new coordinator answers with offsets older than acknowledged ones."""

from harness.vocabulary import FixedSchedule, Kill, Mode, OffsetsWorkload, Scenario, Step, Topology, broker
from scenarios.grouping import GROUP_BROKERS

SCENARIO = Scenario(
    summary="Kill two of three brokers while offsets are committed, and fetch offsets from the third.",
    why=(
        "The coordinators that move to the third broker have read every acknowledged commit. They answer "
        "only up to the high watermark that they were told last, and with two brokers down nothing raises "
        "it."
    ),
    schedule=FixedSchedule(
        steps=(Step(6_000, 14_000, Kill(broker(1))), Step(6_000, 14_000, Kill(broker(2)))),
        duration_ms=30_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=3, config=GROUP_BROKERS),
    workload=OffsetsWorkload(clients=24, rate=2000, groups=12),
    ticket="KIP-447, KAFKA-14499",
)
