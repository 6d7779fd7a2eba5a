"""upgrades/rolled-back: a controller and a broker are upgraded, then go back to the version that they had."""

from harness.vocabulary import (
    Acknowledged,
    Await,
    Heal,
    Inject,
    Kill,
    Mode,
    Pass,
    Scenario,
    ScriptedSchedule,
    Target,
    Topology,
)
from scenarios.upgrading import BROKERS, CONTROLLERS, HELD, LOAD, OLDEST, WHOLE, changed

SCENARIO = Scenario(
    summary="Upgrade a controller and a broker from 3.9.0, kill the active controller, and downgrade both.",
    why=(
        "As long as metadata.version is not raised, an upgrade can be undone: the old version must read what "
        "the new one wrote to the same disks."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(100), within_ms=60_000),
            *WHOLE,
            *changed(CONTROLLERS[0], BROKERS[0]),
            Inject("kill", Kill(Target.ACTIVE_CONTROLLER)),
            Heal("kill"),
            *WHOLE,
            Await(Acknowledged(200)),
            *changed(BROKERS[0], CONTROLLERS[0], version=OLDEST),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=50_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, start_version=OLDEST),
    workload=LOAD,
    assumptions=HELD,
    versions_min="4.0.0",
    ticket="KIP-584, KIP-778",
)
