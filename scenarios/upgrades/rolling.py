"""upgrades/rolling: controllers, then brokers, then the features, with a kill and a partition in between."""

from harness.vocabulary import (
    Acknowledged,
    Await,
    ErrorCode,
    Heal,
    Inject,
    Kill,
    Mode,
    Pass,
    Perform,
    Scenario,
    ScriptedSchedule,
    Target,
    Topology,
    UpdateFeature,
)
from scenarios.quorum import cut_off
from scenarios.upgrading import BROKERS, CONTROLLERS, HELD, LOAD, OLDEST, WHOLE, changed

SCENARIO = Scenario(
    summary="Upgrade three controllers, then three brokers, then metadata.version, from 3.9.0, under load.",
    why=(
        "While nodes of two versions serve one cluster, each reads what the other wrote, and a fault makes "
        "one take over from the other."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(100), within_ms=60_000),
            *WHOLE,
            *changed(*CONTROLLERS[:2]),
            Inject("kill", Kill(CONTROLLERS[1])),
            Heal("kill"),
            *WHOLE,
            *changed(CONTROLLERS[2], BROKERS[0]),
            Inject("cut", cut_off(Target.ACTIVE_CONTROLLER)),
            Heal("cut"),
            *WHOLE,
            *changed(*BROKERS[1:]),
            Perform(UpdateFeature("metadata.version"), expect=(ErrorCode.NONE,), until_ms=30_000),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=80_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, start_version=OLDEST),
    workload=LOAD,
    assumptions=HELD,
    versions_min="4.0.0",
    ticket="KIP-584, KIP-778",
)
