"""findings/power-loss-of-an-observer: a broker that lost its unsynced metadata log has to start again."""

from harness.vocabulary import (
    Acknowledged,
    Assumptions,
    Await,
    DiskKind,
    Expectation,
    Heal,
    Inject,
    InSync,
    LogWorkload,
    Mode,
    Pass,
    PowerLoss,
    Scenario,
    ScriptedSchedule,
    Topology,
    Validity,
    broker,
    brokers,
)

SCENARIO = Scenario(
    summary="Let a new broker of a dynamic quorum lose power before its metadata log was synced.",
    why=(
        "Its quorum-state file is synced and names a leader. The voters are in the log, which is not synced. "
        "A node that knows a leader but no voters must ask for the voters; it must not exit."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(200)),
            Inject("young", PowerLoss(broker(2))),
            Pass(5_500),
            Heal("young"),
            Await(InSync("log-0", 0, brokers(3)), within_ms=60_000),
            Pass(3_000),
        ),
        duration_ms=25_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=3, disk=DiskKind.LOOP_EXT4),
    workload=LogWorkload(assignments=((1, 2, 3), (1, 2, 3)), rate=100, producers=2),
    assumptions=Assumptions(recovery_ms=30_000, why_lowered="the broker ends within seconds or not at all"),
    versions_min="3.9.0",
    expectations=(
        Expectation(
            Validity.INVALID,
            ("node-died", "not-recovered"),
            why="the broker ends at every start with an IllegalStateException",
        ),
    ),
    ticket="KIP-853",
)
