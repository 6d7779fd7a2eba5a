"""kips/kip-195-partitions-added: a topic gets partitions while its leaders and the controller are killed."""

from harness.vocabulary import (
    Acknowledged,
    AddPartitions,
    Await,
    ErrorCode,
    Heal,
    Inject,
    Kill,
    LeadsQuorum,
    LogWorkload,
    Mode,
    Pass,
    Perform,
    Scenario,
    ScriptedSchedule,
    Target,
    Topology,
    broker,
)

SCENARIO = Scenario(
    summary="Add partitions while a leader is away, while the controller is killed, and while it is away.",
    why=(
        "One record of the metadata log creates a partition, and each broker creates it on its own disk. A "
        "broker that was away, or a new controller, has to do it later, and nothing written there may be "
        "lost."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(200)),
            Perform(AddPartitions(4), expect=(ErrorCode.NONE, ErrorCode.INVALID_PARTITIONS), until_ms=10_000),
            Await(Acknowledged(200)),
            Inject("leader", Kill(Target.PARTITION_LEADER)),
            Perform(AddPartitions(5), expect=(ErrorCode.NONE, ErrorCode.INVALID_PARTITIONS), until_ms=20_000),
            Pass(6_000),
            Heal("leader"),
            Await(Acknowledged(200)),
            Perform(AddPartitions(6), background=True),
            Inject("controller", Kill(Target.ACTIVE_CONTROLLER)),
            Await(LeadsQuorum()),
            Perform(AddPartitions(7), expect=(ErrorCode.NONE, ErrorCode.INVALID_PARTITIONS), until_ms=20_000),
            Pass(6_000),
            Heal("controller"),
            Await(Acknowledged(200)),
            Inject("broker", Kill(broker(2))),
            Perform(AddPartitions(8), expect=(ErrorCode.NONE, ErrorCode.INVALID_PARTITIONS), until_ms=20_000),
            Pass(6_000),
            Heal("broker"),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=60_000,
    ),
    topology=Topology(mode=Mode.ISOLATED),
    # One is enough to take writes: what is added while a broker is away may have two copies in sync, or one.
    workload=LogWorkload(partitions=3, rate=100, min_insync_replicas=1),
    ticket="KIP-195, KIP-631",
)
