"""kips/kip-853-remove-leader: the leader removes itself, is cut off as it does, and comes back."""

from harness.vocabulary import (
    Acknowledged,
    AddVoter,
    Among,
    Await,
    ErrorCode,
    Flavour,
    Heal,
    Inject,
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
    controller,
)

SCENARIO = Scenario(
    summary=(
        "Remove the leader of four voters, add it again, and cut the next leader off while it is removed."
    ),
    why=(
        "The leader commits its own removal without counting itself, and then resigns. If it is cut off in "
        "between, its successors decide whether the change happened. In either case it must not lead again."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(LeadsQuorum()),
            Perform(RemoveVoter(), expect=(ErrorCode.NONE, ErrorCode.VOTER_NOT_FOUND)),
            Await(LeadsQuorum()),
            Await(Acknowledged(100)),
            Perform(AddVoter(), expect=(ErrorCode.NONE, ErrorCode.DUPLICATE_VOTER), until_ms=30_000),
            Await(VotersAre(tuple(controller(number) for number in range(1, 5)))),
            Perform(RemoveVoter(), background=True, timeout_ms=15_000),
            Inject(
                "leader",
                Partition(Pattern.ISOLATE_ONE, Target.ACTIVE_CONTROLLER, Flavour.DROP, Among.CONTROLLERS),
            ),
            Pass(8_000),
            Await(LeadsQuorum()),
            Heal("leader"),
            Await(LeadsQuorum()),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=45_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=4, brokers=2),
    workload=LogWorkload(rate=100, producers=2, consumers=2, min_insync_replicas=1),
    versions_min="3.9.0",
    ticket="KIP-853",
)
