"""kips/kip-460-during-failover: elections are asked for while the controller fails over."""

from harness.vocabulary import (
    Acknowledged,
    Await,
    ElectionType,
    ElectLeaders,
    ErrorCode,
    Heal,
    Inject,
    InSync,
    Kill,
    LeaderIs,
    LeadsQuorum,
    LogWorkload,
    Mode,
    Pass,
    Perform,
    Scenario,
    ScriptedSchedule,
    Stop,
    Target,
    Topology,
    broker,
    brokers,
)

_ALL = brokers(3)
_PREFERRED = ElectLeaders(ElectionType.PREFERRED, (("log-0", 0),))
_EVERYWHERE = ElectLeaders(ElectionType.PREFERRED)

SCENARIO = Scenario(
    summary="Ask for preferred leaders at the moment when the active controller is killed.",
    why=(
        "The old controller may or may not have appended the election, and may or may not have answered. In "
        "the end the answer, the metadata log and the brokers must agree."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Inject("preferred", Stop(broker(1))),
            Await(InSync("log-0", 0, (broker(2), broker(3)))),
            Pass(4_000),
            Await(Acknowledged(100)),
            Heal("preferred"),
            Await(InSync("log-0", 0, _ALL)),
            Perform(_EVERYWHERE, background=True),
            Inject("controller", Kill(Target.ACTIVE_CONTROLLER)),
            Perform(_EVERYWHERE, background=True),
            Pass(6_000),
            Await(LeadsQuorum()),
            Perform(_PREFERRED, expect=(ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED), until_ms=20_000),
            Await(LeaderIs("log-0", 0, broker(1))),
            Heal("controller"),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=45_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=3, brokers=3),
    workload=LogWorkload(assignments=((1, 2, 3), (2, 3, 1), (1, 3, 2)), rate=100, producers=2),
    ticket="KIP-460",
)
