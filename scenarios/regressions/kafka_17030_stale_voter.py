"""regressions/kafka-17030-stale-voter: a voter that slept through its removal finds the new leader."""

from harness.vocabulary import (
    Acknowledged,
    Await,
    Configure,
    Expectation,
    Heal,
    Inject,
    IsObserver,
    Kill,
    LeadsQuorum,
    LogWorkload,
    Mode,
    Pass,
    Scenario,
    ScriptedSchedule,
    Topology,
    Validity,
    controllers,
)
from scenarios.quorum import joined, removed

_C = controllers(5)

SCENARIO = Scenario(
    summary="Replace all three voters while one of them is down, and start that one again.",
    why=(
        "The controller that was down knows only voters that are gone. Unless it also asks its bootstrap "
        "servers, it stays a candidate for ever and never learns that it was removed."
    ),
    schedule=ScriptedSchedule(
        moves=(
            *joined(_C, 2),
            *joined(_C, 3),
            # The stopped node must not have led: findings/former-leader tests that.
            Await(LeadsQuorum(_C[0])),
            Inject("stale", Kill(_C[2])),
            *joined(_C, 4),
            *joined(_C, 5),
            *removed(_C[2], _C[:2] + _C[3:]),
            Await(LeadsQuorum()),
            *removed(_C[1], _C[:1] + _C[3:]),
            Await(LeadsQuorum()),
            *removed(_C[0], _C[3:]),
            Await(LeadsQuorum()),
            Inject("second", Kill(_C[1])),
            Inject("third", Kill(_C[0])),
            Await(Acknowledged(100)),
            Pass(5_500),
            # Without the controllers that are gone, the node finds the new leader sooner.
            Configure(_C[2], {"controller.quorum.bootstrap.servers": "{c4}:9093,{c5}:9093"}),
            Heal("stale"),
            Await(IsObserver(_C[2]), within_ms=60_000),
            Pass(5_000),
        ),
        duration_ms=90_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=5, brokers=2, standalone=True),
    workload=LogWorkload(rate=100, producers=2, min_insync_replicas=1),
    kafka_version="4.1.1",
    versions_min="3.9.0",
    expectations=(
        Expectation(
            Validity.INVALID,
            ("voter-lost", "node-died", "node-log-fatal"),
            before="3.9.1",
            why="KAFKA-17030: fixed in 3.9.1 and 4.0.0; before that, a removed voter's answer ended leaders",
        ),
    ),
    ticket="KAFKA-17030",
)
