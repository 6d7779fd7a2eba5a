"""kips/kip-1312-unregister-controller: a removed voter is unregistered, and registers when it returns."""

from harness.vocabulary import (
    Acknowledged,
    AddVoter,
    Await,
    ErrorCode,
    Heal,
    Inject,
    IsObserver,
    LeadsQuorum,
    LogWorkload,
    Mode,
    Pass,
    Perform,
    RemoveVoter,
    Scenario,
    ScriptedSchedule,
    Stop,
    Target,
    Topology,
    UnregisterController,
    VotersAre,
    controllers,
)

_C = controllers(4)
_LEAVING = _C[3]


def _unregistered_while_running() -> tuple[Perform, ...]:
    """Unregister two controllers that run; Kafka refuses it for the active one, which may be one of them."""
    expected = (ErrorCode.NONE, ErrorCode.INVALID_REQUEST)
    return tuple(Perform(UnregisterController(one), expect=expected, until_ms=15_000) for one in _C[:2])


SCENARIO = Scenario(
    summary="Unregister a controller that is down and one that runs, and change leaders afterwards.",
    why=(
        "A registration of a controller that is gone blocks upgrades of features. A new active controller "
        "must not know it any more, and a controller that returns or runs must register again."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(LeadsQuorum()),
            Await(Acknowledged(100), within_ms=60_000),
            Inject("leaving", Stop(_LEAVING)),
            Perform(
                RemoveVoter(_LEAVING),
                expect=(ErrorCode.NONE, ErrorCode.VOTER_NOT_FOUND),
                until_ms=30_000,
            ),
            Await(VotersAre(_C[:3])),
            Perform(UnregisterController(_LEAVING), expect=(ErrorCode.NONE,)),
            Perform(UnregisterController(_LEAVING), expect=(ErrorCode.CONTROLLER_ID_NOT_REGISTERED,)),
            Inject("leader", Stop(Target.ACTIVE_CONTROLLER)),
            Await(Acknowledged(40), within_ms=60_000),
            Pass(5_500),
            Heal("leader"),
            Await(LeadsQuorum()),
            # Its successor knows this too.
            Perform(
                UnregisterController(_LEAVING),
                expect=(ErrorCode.CONTROLLER_ID_NOT_REGISTERED,),
                until_ms=30_000,
            ),
            *_unregistered_while_running(),
            Heal("leaving"),
            Await(IsObserver(_LEAVING)),
            Perform(AddVoter(_LEAVING), expect=(ErrorCode.NONE,), until_ms=30_000),
            Await(VotersAre(_C)),
            # All have registered again, so none is unknown.
            *_unregistered_while_running(),
            Perform(
                UnregisterController(_LEAVING),
                expect=(ErrorCode.NONE, ErrorCode.INVALID_REQUEST),
                until_ms=15_000,
            ),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=50_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=4, brokers=2),
    workload=LogWorkload(rate=100, producers=2, min_insync_replicas=1),
    versions_min="4.4.0",
    ticket="KIP-1312",
)
