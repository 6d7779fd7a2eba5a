"""exploratory/gambits-copy: consume, transform, produce while coordinators of both kinds are taken away."""

from collections.abc import Mapping

from harness.vocabulary import CopyWorkload, Mode, Scenario, Topology
from scenarios.aborting import OFTEN_ABORTED
from scenarios.cleaning import OFTEN_CLEANED
from scenarios.gambit_schedules import mostly_gambits

COPY_GAMBITS: Mapping[str, int] = {
    "group-coordinator": 4,
    "transaction-coordinator": 4,
    "all-copies": 1,
    "cut-off-leader": 1,
    "lost-answers": 2,
    "flapping": 1,
    "rolling-bounce": 1,
    "isr-and-controller": 1,
}
"""How often each gambit is drawn while a group copies; most of them make a coordinator fail."""

SCENARIO = Scenario(
    summary="Coordinators of the group and of its transactions are taken away while a topic is copied.",
    why=(
        "Two coordinators complete the offsets and the copies of a transaction, and neither may be the one "
        "that began it. A defect here copies a record twice, or not at all."
    ),
    schedule=mostly_gambits(COPY_GAMBITS),
    topology=Topology(mode=Mode.ISOLATED, config=OFTEN_ABORTED | OFTEN_CLEANED),
    workload=CopyWorkload(),
    ticket="KIP-98, KIP-447",
)
