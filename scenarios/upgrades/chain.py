"""upgrades/chain: one cluster from 3.9.0 through 4.1.1 and 4.3.1 to the run's version."""

from harness.vocabulary import Acknowledged, Await, Mode, Pass, Scenario, ScriptedSchedule, Topology
from scenarios.upgrading import BROKERS, CONTROLLERS, HELD, LOAD, OLDEST, WHOLE, chain

SCENARIO = Scenario(
    summary="Upgrade three controllers and three brokers from 3.9.0 to 4.1.1, 4.3.1 and the run's version.",
    why=(
        "Each version writes to disks that all earlier ones wrote to: segments, snapshots of the metadata "
        "log and its feature levels, states of producers. One upgrade alone begins on new disks."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(100), within_ms=60_000),
            *WHOLE,
            *chain(*CONTROLLERS, *BROKERS),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=150_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, start_version=OLDEST),
    workload=LOAD,
    assumptions=HELD,
    versions_min="4.3.2",
    ticket="KIP-584, KIP-778",
)
