"""regressions/kafka-19021-broker-as-voter: a broker must not become a voter."""

from harness.vocabulary import (
    Acknowledged,
    AddVoter,
    Await,
    ErrorCode,
    Expectation,
    Heal,
    Inject,
    InSync,
    Kill,
    LeadsQuorum,
    LogWorkload,
    Mode,
    Pass,
    Pause,
    Perform,
    RemoveVoter,
    Scenario,
    ScriptedSchedule,
    Topology,
    Validity,
    broker,
    brokers,
    controller,
)

SCENARIO = Scenario(
    summary="Add a broker that is not a controller as a voter.",
    why=(
        "A broker fetches the metadata log as any observer does, so the leader accepts it as a voter. As a "
        "voter it never votes, and the quorum tolerates one failure less, or the broker exits."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(LeadsQuorum()),
            Inject("follower", Pause(controller(3))),
            Pass(5_500),
            Heal("follower"),
            Await(Acknowledged(100)),
            Perform(AddVoter(broker(3)), expect=(ErrorCode.NONE, ErrorCode.INVALID_REQUEST), until_ms=20_000),
            Pass(8_000),
            Perform(
                RemoveVoter(broker(3)), expect=(ErrorCode.NONE, ErrorCode.VOTER_NOT_FOUND), until_ms=20_000
            ),
            Inject("broker", Kill(broker(3))),
            Pass(5_500),
            Heal("broker"),
            Await(InSync("log-0", 0, brokers(3)), within_ms=60_000),
            Pass(3_000),
        ),
        duration_ms=50_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=3, brokers=3),
    workload=LogWorkload(assignments=((1, 2, 3), (1, 2, 3), (2, 3, 1)), rate=100, producers=2),
    versions_min="3.9.0",
    expectations=(Expectation(Validity.INVALID, ("broker-as-voter", "node-died"), why="KAFKA-19021: open"),),
    ticket="KAFKA-19021",
)
