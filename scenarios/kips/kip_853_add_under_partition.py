"""kips/kip-853-add-under-partition: a voter is added while it, the leader or the voters are cut off."""

from harness.vocabulary import (
    Acknowledged,
    AddVoter,
    Among,
    Await,
    ErrorCode,
    Fault,
    Flavour,
    Heal,
    Inject,
    IsObserver,
    LeadsQuorum,
    LogWorkload,
    Member,
    Mode,
    Partition,
    Pass,
    Pattern,
    Perform,
    RemoveVoter,
    Scenario,
    ScriptedSchedule,
    Target,
    Topology,
    VotersAre,
    VotersCaughtUp,
    controller,
)

_C = tuple(controller(number) for number in range(1, 5))


def _cut(pattern: Pattern, around: Target | Member) -> Fault:
    return Partition(pattern, around, Flavour.DROP, Among.CONTROLLERS)


SCENARIO = Scenario(
    summary="Add a voter while it is cut off, while the leader is, and while only it can reach all others.",
    why=(
        "A new voter counts as soon as its record is appended. If it is out of reach, it must be refused. A "
        "leader that is cut off can't commit it. Where it is the only link, it makes a majority of four."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(100), within_ms=60_000),
            Await(IsObserver(_C[3])),
            Inject("newcomer", _cut(Pattern.ISOLATE_ONE, _C[3])),
            Perform(AddVoter(_C[3]), expect=(ErrorCode.REQUEST_TIMED_OUT,), until_ms=30_000),
            Await(VotersAre(_C[:3])),
            Heal("newcomer"),
            Await(IsObserver(_C[3]), within_ms=60_000),
            Inject("leader", _cut(Pattern.ISOLATE_ONE, Target.ACTIVE_CONTROLLER)),
            Perform(AddVoter(_C[3]), background=True, timeout_ms=5_000),
            Heal("leader"),
            Await(LeadsQuorum()),
            # However that went, the newcomer is out again.
            Perform(RemoveVoter(_C[3]), expect=(ErrorCode.NONE, ErrorCode.VOTER_NOT_FOUND), until_ms=30_000),
            Await(VotersAre(_C[:3])),
            Await(Acknowledged(100)),
            Await(IsObserver(_C[3]), within_ms=60_000),
            Inject("voters", _cut(Pattern.BRIDGE, _C[3])),
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
    workload=LogWorkload(rate=100, producers=2, consumers=2, min_insync_replicas=1),
    versions_min="3.9.0",
    ticket="KIP-853",
)
