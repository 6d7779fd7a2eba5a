"""kips/kip-853-remove-leader: the leader removes itself, is cut off as it does, and comes back."""

from harness.vocabulary import (
    Acknowledged,
    AddVoter,
    Await,
    ErrorCode,
    Heal,
    Inject,
    LeadsQuorum,
    LogWorkload,
    Mode,
    Pass,
    Perform,
    RemoveVoter,
    Scenario,
    ScriptedSchedule,
    Target,
    Topology,
    VotersAre,
    controllers,
)
from scenarios.quorum import cut_off

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
            Await(VotersAre(controllers(4))),
            Perform(RemoveVoter(), background=True, timeout_ms=15_000),
            Inject("leader", cut_off(Target.ACTIVE_CONTROLLER)),
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
    workload=LogWorkload(rate=100, producers=2, min_insync_replicas=1),
    versions_min="3.9.0",
    ticket="KIP-853",
)
