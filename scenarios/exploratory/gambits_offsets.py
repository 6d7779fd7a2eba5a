"""exploratory/gambits-offsets: coordinators of groups moved between commits and reads, by short scripts."""

from harness.vocabulary import Mode, OffsetsWorkload, Scenario, Topology
from scenarios.cleaning import OFTEN_CLEANED
from scenarios.gambit_schedules import mostly_gambits
from scenarios.grouping import GROUP_BROKERS

SCENARIO = Scenario(
    summary="Coordinators of groups are taken away and led back between a commit and the next read.",
    why=(
        "A new coordinator loads what its predecessor wrote, and may be deposed while it loads. A defect "
        "here loses an acknowledged commit, or returns an old one."
    ),
    schedule=mostly_gambits(
        {
            "group-coordinator": 6,
            "broker-majority": 1,
            "cut-off-leader": 1,
            "lost-answers": 1,
            "flapping": 1,
            "rolling-bounce": 1,
            "isr-and-controller": 1,
        },
    ),
    topology=Topology(mode=Mode.ISOLATED, config=GROUP_BROKERS | OFTEN_CLEANED),
    workload=OffsetsWorkload(clients=18),
    ticket="KIP-98, KIP-101",
)
