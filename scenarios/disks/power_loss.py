"""disks/power-loss: all brokers lose power at once, and with it what they had not synced."""

from harness.vocabulary import (
    Acknowledged,
    Assumptions,
    Await,
    DiskKind,
    Heal,
    Inject,
    InSync,
    LogWorkload,
    Mode,
    Pass,
    PowerLoss,
    Quorum,
    Scenario,
    ScriptedSchedule,
    Topology,
    broker,
    brokers,
)

_ALL = brokers(3)

SCENARIO = Scenario(
    summary="Let one broker lose power, and later all three within a second.",
    why=(
        "An acknowledgement means that all replicas in sync have a record in memory, not on disk. One broker "
        "that loses power copies the record from the others again. Three that lose power may lose the "
        "unsynced end of the log."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(200)),
            Inject("one", PowerLoss(broker(2))),
            Pass(5_500),
            Heal("one"),
            Await(InSync("log-0", 0, _ALL), within_ms=60_000),
            Await(Acknowledged(100)),
            *(Inject(f"all-{number}", PowerLoss(broker(number))) for number in (1, 2, 3)),
            Pass(5_500),
            *(Heal(f"all-{number}") for number in (1, 2, 3)),
            Await(InSync("log-0", 0, _ALL), within_ms=60_000),
            Pass(3_000),
        ),
        duration_ms=60_000,
    ),
    # In a dynamic quorum a young broker does not survive this: findings/power-loss-of-an-observer.
    topology=Topology(
        mode=Mode.ISOLATED, controllers=1, brokers=3, quorum=Quorum.STATIC, disk=DiskKind.LOOP_EXT4
    ),
    workload=LogWorkload(assignments=((1, 2, 3), (1, 2, 3)), rate=100, producers=2),
    assumptions=Assumptions(invoked_during=5, why_lowered="without a broker little can be sent"),
    ticket="KIP-966",
)
