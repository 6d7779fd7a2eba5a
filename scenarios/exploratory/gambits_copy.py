"""exploratory/gambits-copy: consume, transform, produce while coordinators of both kinds are taken away."""

from harness.vocabulary import CopyWorkload, Mode, Scenario, Topology
from scenarios.cleaning import OFTEN_CLEANED
from scenarios.gambit_schedules import mostly_gambits

SCENARIO = Scenario(
    summary="Coordinators of the group and of its transactions taken away while a topic is copied.",
    why=(
        "The offsets and the copies of a transaction are completed by two coordinators, neither of which may "
        "be who began: where a record is copied twice, or not at all."
    ),
    schedule=mostly_gambits(
        {
            "group-coordinator": 4,
            "transaction-coordinator": 4,
            "all-copies": 1,
            "cut-off-leader": 1,
            "lost-answers": 2,
            "flapping": 1,
            "rolling-bounce": 1,
            "isr-and-controller": 1,
        },
    ),
    topology=Topology(
        mode=Mode.ISOLATED,
        config={"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"} | OFTEN_CLEANED,
    ),
    workload=CopyWorkload(),
    ticket="KIP-98, KIP-447",
)
