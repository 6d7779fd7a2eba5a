"""kips/kip-853-leader-killed-midway: the leader dies between appending a change and committing it."""

from harness.vocabulary import (
    Acknowledged,
    Await,
    Heal,
    Inject,
    Kill,
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
    controller,
)
from scenarios.quorum import cut_off

SCENARIO = Scenario(
    summary="Cut the leader off, ask it to remove a voter, and kill it before it could commit that.",
    why=(
        "Only one log has the record of the change, and the next leader may not know of it. The old leader "
        "then has to truncate the record, and to drop the set of voters that it already counted with."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(LeadsQuorum()),
            Await(Acknowledged(100)),
            Inject("cut", cut_off(Target.ACTIVE_CONTROLLER)),
            Perform(RemoveVoter(controller(4)), background=True, timeout_ms=5_000),
            Pass(700),
            Inject("leader", Kill(Target.ACTIVE_CONTROLLER)),
            Pass(6_000),
            Heal("cut"),
            Heal("leader"),
            Await(LeadsQuorum()),
            Await(Acknowledged(200)),
            Pass(5_000),
        ),
        duration_ms=30_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=4, brokers=2),
    workload=LogWorkload(rate=100, producers=2, min_insync_replicas=1),
    versions_min="3.9.0",
    ticket="KIP-853",
)
