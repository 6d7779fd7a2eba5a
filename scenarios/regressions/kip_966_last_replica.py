"""regressions/kip-966-last-replica: the last in-sync replica loses its disk, two others have every record."""

from harness.vocabulary import (
    Acknowledged,
    Assumptions,
    Await,
    Expectation,
    Heal,
    Inject,
    InSync,
    LogWorkload,
    Mode,
    Pass,
    Scenario,
    Scope,
    ScriptedSchedule,
    Stop,
    Topology,
    Validity,
    WipeDisk,
    broker,
    brokers,
)

_ELR = "eligible.leader.replicas.version"
"""New clusters have level 1 since 4.1.0."""

SCENARIO = Scenario(
    summary="Stop two replicas cleanly, kill the third and empty its disk, and start it first.",
    why=(
        "Without eligible leader replicas, the last member of the ISR stays in it for ever, even with an "
        "empty log. It leads, and the two that still have every acknowledged record truncate their logs to "
        "nothing."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(500)),
            Inject("second", Stop(broker(2))),
            Inject("third", Stop(broker(3))),
            Await(InSync("log-0", 0, (broker(1),))),
            Inject("last", WipeDisk(broker(1), scope=Scope.TOPIC, topic="log-0")),
            Pass(5_500),
            Heal("last"),
            Pass(8_000),
            Heal("second"),
            Heal("third"),
            Await(InSync("log-0", 0, brokers(3)), within_ms=60_000),
            Pass(3_000),
        ),
        duration_ms=50_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=1, brokers=3),
    workload=LogWorkload(assignments=((1, 2, 3), (1, 2, 3)), rate=100, producers=2),
    assumptions=Assumptions(invoked_during=5, why_lowered="most of the time nothing can be acknowledged"),
    expectations=(
        Expectation(
            Validity.VALID, features={_ELR: 1}, why="KIP-966: those that left the ISR in sync may be elected"
        ),
        Expectation(
            Validity.INVALID,
            ("known-gap",),
            before="4.1.0",
            why="KIP-966: the last in-sync replica may lead whatever it has",
        ),
        Expectation(
            Validity.INVALID,
            ("known-gap",),
            features={_ELR: 0},
            why="KIP-966: without the feature the behaviour is the old one",
        ),
    ),
    ticket="KIP-966",
)
