"""upgrades/chain-combined: the chain of upgrades where each node is broker and controller."""

from harness.vocabulary import Acknowledged, Await, Pass, Scenario, ScriptedSchedule, Topology
from scenarios.upgrading import BROKERS, HELD, LOAD, OLDEST, WHOLE, chain

SCENARIO = Scenario(
    summary="Upgrade three combined nodes from 3.9.0 to 4.1.1, 4.3.1 and the run's version.",
    why=(
        "A node that is broker and controller changes both at once, so a new controller leads old brokers, "
        "and an old one new brokers, in each step of the chain."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(100), within_ms=60_000),
            *WHOLE,
            *chain(*BROKERS),
            Await(Acknowledged(200)),
            Pass(3_000),
        ),
        duration_ms=90_000,
    ),
    topology=Topology(start_version=OLDEST),
    workload=LOAD,
    assumptions=HELD,
    versions_min="4.3.2",
    ticket="KIP-584, KIP-778",
)
