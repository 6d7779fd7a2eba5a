"""exploratory/gambits-pipelined: five batches in flight, of which the first is lost or refused."""

from harness.vocabulary import LogWorkload, Mode, Scenario, Topology
from scenarios.gambit_schedules import mostly_gambits

SCENARIO = Scenario(
    summary="A producer has five batches in flight to a partition whose leader or ISR changes.",
    why=(
        "The first batch is lost or refused, and those behind it arrive. A defect here appends a batch "
        "although an earlier sequence is missing, or appends it twice when it is sent again."
    ),
    schedule=mostly_gambits(
        {
            "refused-batches": 6,
            "held-sends": 6,
            "lossy-sends": 4,
            "lost-answers": 3,
            "last-in-sync": 1,
            "cut-off-leader": 2,
            "flapping": 1,
            "broker-majority": 1,
        },
    ),
    topology=Topology(mode=Mode.ISOLATED),
    # With two in sync at least a batch is refused before it is appended, and the next may be taken.
    workload=LogWorkload(pipelined=True, rate=20, batch=40),
    ticket="KIP-98",
)
