"""exploratory/gambits-copy: consume, transform, produce while coordinators of both kinds are taken away."""

from harness.vocabulary import CopyWorkload, Mode, RandomSchedule, Scenario, Topology

SCENARIO = Scenario(
    summary="Coordinators of the group and of its transactions taken away while a topic is copied.",
    why=(
        "The offsets and the copies of a transaction are completed by two coordinators, neither of which may "
        "be who began: where a record is copied twice, or not at all."
    ),
    schedule=RandomSchedule(
        duration_ms=60_000,
        gap_ms=(0, 1_000),
        gambits={
            "group-coordinator": 4,
            "transaction-coordinator": 4,
            "all-copies": 1,
            "cut-off-leader": 1,
            "lost-answers": 2,
            "flapping": 1,
            "rolling-bounce": 1,
            "isr-and-controller": 1,
        },
        gambit_share=0.92,
        operations={"elect-preferred": 1},
        changes={"alter": 1},
    ),
    topology=Topology(
        mode=Mode.ISOLATED,
        config={"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"},
    ),
    workload=CopyWorkload(),
    ticket="KIP-98, KIP-447",
)
