"""regressions/kafka-20247-lost-registration: a controller registers itself although its first request failed.

A controller that starts registers itself with the active controller.  Here the active controller appends the
registration, but can't commit it, because the other voters are paused.  The request ends after five seconds.
The active controller is then killed, and the others elect a leader that does not have the record.  Up to
4.2.0 the started controller waits for ever for the answer to its first request.
"""

from harness.vocabulary import (
    Acknowledged,
    Await,
    Expectation,
    Heal,
    Inject,
    Kill,
    LeadsQuorum,
    LogWorkload,
    Mode,
    Pass,
    Pause,
    Scenario,
    ScriptedSchedule,
    Stop,
    Topology,
    Validity,
    VotersCaughtUp,
    controllers,
)
from scenarios.quorum import joined

_C = controllers(4)
_FETCH_TIMEOUT = "controller.quorum.fetch.timeout.ms"

SCENARIO = Scenario(
    summary="Start a controller while no registration can be committed, and lose the uncommitted one.",
    why=(
        "Until a controller is registered, the active controller takes it for its former process, with the "
        "endpoints and the features of that one. So a process whose request failed must repeat it."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(LeadsQuorum(_C[0])),
            *joined(_C, 2),
            *joined(_C, 3),
            Await(VotersCaughtUp()),
            Await(Acknowledged(200)),
            Inject("newest", Stop(_C[3])),
            Pass(5_000),
            Inject("second", Pause(_C[1])),
            Inject("third", Pause(_C[2])),
            Heal("newest"),
            # The process starts, which takes seconds on a busy host, and its request ends after five seconds.
            Pass(12_000),
            Inject("leader", Kill(_C[0])),
            Heal("second"),
            Heal("third"),
            Pass(4_000),
            Await(LeadsQuorum(), within_ms=60_000),
            Heal("leader"),
            Await(VotersCaughtUp()),
            Await(Acknowledged(200)),
            Pass(25_000),
        ),
        duration_ms=84_000,
    ),
    topology=Topology(
        mode=Mode.ISOLATED,
        controllers=4,
        brokers=2,
        standalone=True,
        # A leader resigns when no majority has fetched from it for one and a half times as long.
        config={_FETCH_TIMEOUT: "20000"},
        node_config={name: {_FETCH_TIMEOUT: "2000"} for name in ("c2", "c3", "c4", "b1", "b2")},
    ),
    workload=LogWorkload(rate=100, producers=2, min_insync_replicas=1),
    kafka_version="4.2.1",
    versions_min="3.9.0",
    expectations=(
        Expectation(
            Validity.INVALID,
            ("controller-not-registered",),
            before="4.2.1",
            why="KAFKA-20247: fixed in 4.2.1",
        ),
    ),
    ticket="KAFKA-20247",
)
