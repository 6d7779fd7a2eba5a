"""exploratory/gambits-metadata: topics removed and created again while a broker with copies is away."""

from harness.vocabulary import MetadataWorkload, Mode, Scenario, Topology
from scenarios.gambit_schedules import mostly_gambits

SCENARIO = Scenario(
    summary="Topics come, go and come again while a broker is away, and while controllers are taken away.",
    why=(
        "A broker that comes back has folders of topics that are gone, and of others with the same name: "
        "where old records show up in a new topic, or what was removed comes back."
    ),
    schedule=mostly_gambits(
        {
            "absent-replica": 6,
            "late-reports": 4,
            "cut-off-controller": 2,
            "colliding-elections": 2,
            "isr-and-controller": 1,
            "all-brokers": 1,
            "flapping": 1,
            "rolling-bounce": 1,
        },
    ),
    topology=Topology(mode=Mode.ISOLATED),
    workload=MetadataWorkload(),
    ticket="KIP-500, KIP-516, KIP-595, KIP-631",
)
