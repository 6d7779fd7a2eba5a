"""kips/kip-455-controller-killed: the controller dies while partitions move."""

from harness.vocabulary import (
    Acknowledged,
    Await,
    ErrorCode,
    Heal,
    Inject,
    Kill,
    LeadsQuorum,
    LogWorkload,
    Mode,
    NothingMoves,
    Pass,
    Perform,
    Reassign,
    ReplicasAre,
    Scenario,
    ScriptedSchedule,
    Target,
    Topology,
    broker,
)
from scenarios.quorum import cut_off

_SLOW_BYTES_PER_S = 20_000

SCENARIO = Scenario(
    summary="Kill the active controller during reassignments, cut the next one off, cancel one reassignment.",
    why=(
        "Only the metadata log has the reassignments in progress. A new controller has to continue each of "
        "them where the old one left it, and a cancelled one must not come back."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(200)),
            Perform(
                Reassign(
                    (("log-0", 0, (4, 2, 3)), ("log-0", 1, (1, 4, 3))), throttle_bytes_per_s=_SLOW_BYTES_PER_S
                ),
                expect=(ErrorCode.NONE,),
            ),
            Inject("controller", Kill(Target.ACTIVE_CONTROLLER)),
            Pass(6_000),
            Await(LeadsQuorum()),
            Heal("controller"),
            Perform(Reassign((("log-0", 2, (4, 1, 2)),)), expect=(ErrorCode.NONE,), until_ms=20_000),
            Inject("cut", cut_off(Target.ACTIVE_CONTROLLER)),
            Perform(Reassign((("log-0", 1, None),)), background=True),
            Pass(8_000),
            Heal("cut"),
            Await(LeadsQuorum()),
            Perform(
                Reassign((("log-0", 1, None),)),
                expect=(ErrorCode.NONE, ErrorCode.NO_REASSIGNMENT_IN_PROGRESS),
                until_ms=20_000,
            ),
            Await(NothingMoves(), within_ms=60_000),
            Await(ReplicasAre("log-0", 2, (broker(4), broker(1), broker(2)))),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=60_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=3, brokers=4),
    workload=LogWorkload(assignments=((1, 2, 3), (1, 2, 3), (1, 2, 3)), rate=100, producers=2),
    ticket="KIP-455",
)
