"""exploratory/gambits-metadata: topics removed and created again while a broker with copies is away."""

from harness.vocabulary import MetadataWorkload, Mode, RandomSchedule, Scenario, Topology

SCENARIO = Scenario(
    summary="Topics come, go and come again while a broker is away, and while controllers are taken away.",
    why=(
        "A broker that comes back has folders of topics that are gone, and of others with the same name: "
        "where old records show up in a new topic, or what was removed comes back."
    ),
    schedule=RandomSchedule(
        duration_ms=60_000,
        gap_ms=(0, 1_000),
        gambits={
            "absent-replica": 6,
            "cut-off-controller": 2,
            "colliding-elections": 2,
            "isr-and-controller": 1,
            "all-brokers": 1,
            "flapping": 1,
            "rolling-bounce": 1,
        },
        gambit_share=0.92,
        operations={"elect-preferred": 1},
        changes={"alter": 1},
    ),
    topology=Topology(mode=Mode.ISOLATED),
    workload=MetadataWorkload(),
    ticket="KIP-500, KIP-516, KIP-595, KIP-631",
)
