"""findings/former-leader: a voter that led, slept through its removal, and is to find the new leader."""

from harness.vocabulary import (
    Acknowledged,
    Await,
    Configure,
    Expectation,
    Heal,
    Inject,
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
    summary="Replace all three voters while the former leader is down, and start that one again.",
    why=(
        "It starts as a leader that has resigned, without a timeout for an election, and the voters that it "
        "knows do not answer. Unless it also asks the servers in its configuration, it asks for votes for "
        "ever."
    ),
    schedule=ScriptedSchedule(
        moves=(
            *joined(_C, 2),
            *joined(_C, 3),
            Await(LeadsQuorum(_C[0])),
            Inject("leader", Kill(_C[0])),
            Await(LeadsQuorum()),
            *joined(_C, 4),
            *joined(_C, 5),
            *removed(_C[0], _C[1:]),
            Await(LeadsQuorum()),
            *removed(_C[1], _C[2:]),
            Await(LeadsQuorum()),
            *removed(_C[2], _C[3:]),
            Await(LeadsQuorum()),
            Inject("second", Kill(_C[1])),
            Inject("third", Kill(_C[2])),
            Await(Acknowledged(100)),
            Configure(_C[0], {"controller.quorum.bootstrap.servers": "{c4}:9093,{c5}:9093"}),
            Heal("leader"),
            Pass(45_000),
        ),
        duration_ms=110_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=5, brokers=2, standalone=True),
    workload=LogWorkload(rate=100, producers=2, min_insync_replicas=1),
    versions_min="4.0.0",
    expectations=(
        Expectation(
            Validity.INVALID,
            ("voter-lost",),
            why="KAFKA-17030 is fixed for voters that wait for a leader, and this one never waits",
        ),
    ),
    ticket="KAFKA-17030",
)
