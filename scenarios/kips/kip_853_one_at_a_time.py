"""kips/kip-853-one-at-a-time: a second change of voters waits for the first."""

from harness.vocabulary import (
    Acknowledged,
    AddVoter,
    Await,
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
    controller,
)
from scenarios.quorum import cut_off

SCENARIO = Scenario(
    summary="Ask for a second change of voters while the first can't be committed.",
    why=(
        "A leader that is cut off from its majority appends a set of voters that it can't commit. A second "
        "set on top of it would differ from the committed one by two voters, and then two majorities need "
        "not have a voter in common."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(LeadsQuorum()),
            Inject("leader", cut_off(Target.ACTIVE_CONTROLLER)),
            Perform(AddVoter(controller(4)), background=True, timeout_ms=6_000),
            Perform(RemoveVoter(), timeout_ms=3_000, until_ms=1_000),
            Pass(6_000),
            Heal("leader"),
            Await(LeadsQuorum()),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=30_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=4, brokers=2, initial_voters=3),
    workload=LogWorkload(rate=100, producers=2, min_insync_replicas=1),
    versions_min="3.9.0",
    ticket="KIP-853",
)
