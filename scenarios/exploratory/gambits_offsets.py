"""exploratory/gambits-offsets: coordinators of groups moved between commits and reads, by short scripts."""

from harness.vocabulary import Mode, OffsetsWorkload, RandomSchedule, Scenario, Topology

SCENARIO = Scenario(
    summary="Coordinators of groups taken away and led back between a commit and the next read.",
    why=(
        "A coordinator that takes over loads what its predecessor wrote, and may be deposed while it does: "
        "where an acknowledged commit is lost, or an old one comes back."
    ),
    schedule=RandomSchedule(
        duration_ms=60_000,
        gap_ms=(0, 1_000),
        gambits={
            "group-coordinator": 6,
            "broker-majority": 1,
            "cut-off-leader": 1,
            "lost-answers": 1,
            "flapping": 1,
            "rolling-bounce": 1,
            "isr-and-controller": 1,
        },
        gambit_share=0.92,
        operations={"elect-preferred": 1},
        changes={"alter": 1},
    ),
    topology=Topology(
        mode=Mode.ISOLATED, config={"offsets.topic.num.partitions": "6", "min.insync.replicas": "2"}
    ),
    workload=OffsetsWorkload(clients=18),
    ticket="KIP-98, KIP-101",
)
