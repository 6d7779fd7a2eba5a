"""kips/kip-500-unregister-broker: a broker is unregistered while it is down, then while it runs."""

from harness.vocabulary import (
    Acknowledged,
    Await,
    ErrorCode,
    Heal,
    Inject,
    InSync,
    Kill,
    LeadsQuorum,
    LogWorkload,
    Mode,
    Pass,
    Perform,
    Reassign,
    Scenario,
    ScriptedSchedule,
    Stop,
    Target,
    Topology,
    UnregisterBroker,
    brokers,
)

_B = brokers(4)
_LEAVING = _B[2]

SCENARIO = Scenario(
    summary="Unregister a broker that was killed and one that runs; replicas return when the broker starts.",
    why=(
        "Its replicas stay in the assignments, but it must get no others and must not be elected or in sync. "
        "It must be a broker again as soon as it registers, also for an active controller that came later."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(100), within_ms=60_000),
            Inject("down", Kill(_LEAVING)),
            Await(InSync("log-0", 0, _B[:2])),
            Perform(UnregisterBroker(_LEAVING), expect=(ErrorCode.NONE,), until_ms=30_000),
            Perform(UnregisterBroker(_LEAVING), expect=(ErrorCode.BROKER_ID_NOT_REGISTERED,)),
            Perform(
                Reassign((("log-0", 1, (1, 2, 3)),)),
                expect=(ErrorCode.INVALID_REPLICA_ASSIGNMENT,),
            ),
            Inject("leader", Stop(Target.ACTIVE_CONTROLLER)),
            Await(Acknowledged(40), within_ms=60_000),
            Pass(5_500),
            Heal("leader"),
            Await(LeadsQuorum()),
            Perform(
                UnregisterBroker(_LEAVING), expect=(ErrorCode.BROKER_ID_NOT_REGISTERED,), until_ms=30_000
            ),
            Heal("down"),
            Await(InSync("log-0", 0, _B[:3]), within_ms=60_000),
            Await(Acknowledged(100)),
            # Kafka does not refuse it while the broker runs, and the broker does not register again.
            Perform(UnregisterBroker(_LEAVING), expect=(ErrorCode.NONE,), until_ms=30_000),
            Await(InSync("log-0", 0, _B[:2])),
            Await(Acknowledged(100)),
            # A clean stop would wait five minutes for the controllers, which do not know the broker.
            Inject("restart", Kill(_LEAVING)),
            Pass(5_500),
            Heal("restart"),
            Await(InSync("log-0", 0, _B[:3]), within_ms=60_000),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=60_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=3, brokers=4),
    workload=LogWorkload(assignments=((1, 2, 3), (1, 2, 4)), rate=100, producers=2),
    versions_min="3.7.1",
    ticket="KIP-500",
)
