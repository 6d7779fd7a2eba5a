"""regressions/kafka-15489-zombie-leader: a leader cut off from its majority must step down."""

from harness.vocabulary import (
    Expectation,
    FixedSchedule,
    LogWorkload,
    Mode,
    Quorum,
    Scenario,
    Step,
    Target,
    Topology,
    Validity,
)
from scenarios.quorum import cut_off

SCENARIO = Scenario(
    summary="Cut the active controller off from the other controllers, both ways, for 25 s.",
    why=(
        "Brokers still reach the old leader, and it still believes that it is the leader. Before 3.7.0 it "
        "does not notice that no majority fetches from it any more, while the others elect a leader in the "
        "next epoch."
    ),
    schedule=FixedSchedule(
        steps=(Step(5_000, 25_000, cut_off(Target.ACTIVE_CONTROLLER)),),
        duration_ms=38_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=3, brokers=3, quorum=Quorum.STATIC),
    workload=LogWorkload(rate=100),
    kafka_version="3.7.1",
    expectations=(
        Expectation(
            Validity.INVALID,
            ("zombie-leader",),
            before="3.7.0",
            why="KAFKA-15489: the leader progress timeout of KIP-595 came with 3.7.0",
        ),
    ),
    ticket="KAFKA-15489",
)
