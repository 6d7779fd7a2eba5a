"""findings/uncommitted-listing: a controller without a quorum lists a reassignment that is not committed."""

from harness.vocabulary import (
    Acknowledged,
    Await,
    ErrorCode,
    Expectation,
    Heal,
    Inject,
    LeadsQuorum,
    LogWorkload,
    Mode,
    Moves,
    NothingMoves,
    Pass,
    Perform,
    Reassign,
    Scenario,
    ScriptedSchedule,
    Stop,
    Target,
    Topology,
    Validity,
    brokers,
)
from scenarios.quorum import cut_off

_B = brokers(4)

SCENARIO = Scenario(
    summary="Cut the active controller off from the other voters, then change the target of a reassignment.",
    why=(
        "Such a controller can't commit the new target, so a list of reassignments must not have it. Which "
        "partitions move is read as of the last committed offset, but what they move to is not."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(100), within_ms=60_000),
            Inject("target", Stop(_B[3])),
            Perform(Reassign((("log-0", 0, (1, 2, 4)),)), expect=(ErrorCode.NONE,)),
            Await(Moves("log-0", 0)),
            Pass(2_000),
            Inject("cut", cut_off(Target.ACTIVE_CONTROLLER)),
            Perform(Reassign((("log-0", 0, (1, 3, 4)),)), background=True),
            Pass(8_000),
            Heal("cut"),
            Await(LeadsQuorum()),
            Heal("target"),
            Await(NothingMoves(), within_ms=60_000),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=30_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=3, brokers=4),
    workload=LogWorkload(assignments=((1, 2, 3), (2, 3, 4)), rate=100, producers=2),
    expectations=(
        Expectation(
            Validity.INVALID,
            ("reassignment-uncommitted",),
            why="the controller that was cut off lists a target that is not committed",
        ),
    ),
    ticket="KIP-455",
)
