"""disks/voter-replaced-during-voter-change: a voter's disk goes while its removal is not committed."""

from harness.vocabulary import (
    Acknowledged,
    AddVoter,
    Among,
    Await,
    ErrorCode,
    Flavour,
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
    RemoveVoter,
    Scenario,
    ScriptedSchedule,
    Target,
    Topology,
    VotersAre,
    VotersCaughtUp,
    WipeDisk,
    controller,
)

_C = tuple(controller(number) for number in range(1, 5))

SCENARIO = Scenario(
    summary=(
        "Add a voter, and replace another's disk while the leader is cut off and can't commit its removal."
    ),
    why=(
        "Until another voter leads, it is open whether the removal happened. If it did, two of three are a "
        "majority; if it did not, three of four are. In both cases the voter with the empty disk must not be "
        "counted."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(100), within_ms=60_000),
            Await(IsObserver(_C[3])),
            Perform(AddVoter(_C[3]), expect=(ErrorCode.NONE, ErrorCode.DUPLICATE_VOTER), until_ms=30_000),
            Await(VotersAre(_C)),
            Await(LeadsQuorum()),
            Inject(
                "leader",
                Partition(Pattern.ISOLATE_ONE, Target.ACTIVE_CONTROLLER, Flavour.DROP, Among.CONTROLLERS),
            ),
            Perform(RemoveVoter(_C[2]), background=True, timeout_ms=5_000),
            Inject("disk", WipeDisk(_C[2])),
            Heal("leader"),
            Await(LeadsQuorum()),
            Perform(RemoveVoter(_C[2]), expect=(ErrorCode.NONE, ErrorCode.VOTER_NOT_FOUND), until_ms=30_000),
            Await(VotersAre((_C[0], _C[1], _C[3]))),
            Await(Acknowledged(100)),
            Heal("disk"),
            Await(IsObserver(_C[2]), within_ms=60_000),
            Perform(AddVoter(_C[2]), expect=(ErrorCode.NONE, ErrorCode.DUPLICATE_VOTER), until_ms=30_000),
            Await(VotersAre(_C)),
            Await(VotersCaughtUp()),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=50_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=4, brokers=2, initial_voters=3),
    workload=LogWorkload(rate=100, producers=2, consumers=2, min_insync_replicas=1),
    versions_min="3.9.0",
    ticket="KIP-853",
)
