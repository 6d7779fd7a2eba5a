"""kips/kip-853-add-under-partition: a voter is added while it, the leader or the voters are cut off."""

from harness.vocabulary import (
    Acknowledged,
    AddVoter,
    Among,
    Await,
    ErrorCode,
    Heal,
    Inject,
    IsObserver,
    LeadsQuorum,
    LogWorkload,
    Mode,
    Partition,
    Pass,
    Pattern,
    Perform,
    Scenario,
    ScriptedSchedule,
    Target,
    Topology,
    VotersAre,
    VotersCaughtUp,
    controllers,
)
from scenarios.quorum import cut_off, removed

_C = controllers(4)

SCENARIO = Scenario(
    summary="Add a voter while it is cut off, while the leader is, and while only it can reach all others.",
    why=(
        "A new voter counts as soon as the record that adds it is appended. If the leader can't reach the "
        "new voter, the request must be refused. A leader that is cut off can't commit the record. If only "
        "the new voter reaches all others, no majority of the four voters is possible without it."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(100), within_ms=60_000),
            Await(IsObserver(_C[3])),
            Inject("newcomer", cut_off(_C[3])),
            Perform(AddVoter(_C[3]), expect=(ErrorCode.REQUEST_TIMED_OUT,), until_ms=30_000),
            Await(VotersAre(_C[:3])),
            Heal("newcomer"),
            Await(IsObserver(_C[3]), within_ms=60_000),
            Inject("leader", cut_off(Target.ACTIVE_CONTROLLER)),
            Perform(AddVoter(_C[3]), background=True, timeout_ms=5_000),
            Heal("leader"),
            Await(LeadsQuorum()),
            # Whatever the outcome was, the new controller is an observer again.
            *removed(_C[3], _C[:3]),
            Await(Acknowledged(100)),
            Await(IsObserver(_C[3]), within_ms=60_000),
            Inject("voters", Partition(Pattern.BRIDGE, _C[3], among=Among.CONTROLLERS)),
            # Of the four, three see each other: the newcomer and those of the larger part.
            Perform(AddVoter(_C[3]), expect=(ErrorCode.NONE, ErrorCode.DUPLICATE_VOTER), until_ms=45_000),
            Await(VotersAre(_C)),
            Heal("voters"),
            Await(LeadsQuorum()),
            Await(VotersCaughtUp()),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=60_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=4, brokers=2, initial_voters=3),
    workload=LogWorkload(rate=100, producers=2, min_insync_replicas=1),
    versions_min="3.9.0",
    ticket="KIP-853",
)
