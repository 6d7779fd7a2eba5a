"""regressions/kip-996-epoch-run-away: a controller that is cut off must not drive the epoch up."""

from harness.vocabulary import (
    Acknowledged,
    Await,
    Expectation,
    Heal,
    Inject,
    LeadsQuorum,
    LogWorkload,
    Mode,
    Pass,
    Quorum,
    Scenario,
    ScriptedSchedule,
    Target,
    Topology,
    Validity,
)
from scenarios.quorum import cut_off

SCENARIO = Scenario(
    summary="Cut a follower among the controllers off from the others, twice, for 20 s each.",
    why=(
        "A follower that can't reach a leader becomes a candidate again and again, each time in a higher "
        "epoch. When the cut is healed, a leader that never failed has to resign because of that epoch. With "
        "pre-vote, the follower first asks whether it would be elected, and keeps its epoch until then."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(LeadsQuorum()),
            *(
                move
                for number in (1, 2)
                for move in (
                    Inject(f"cut-{number}", cut_off(Target.QUORUM_FOLLOWER)),
                    Pass(20_000),
                    Heal(f"cut-{number}"),
                    Await(LeadsQuorum()),
                    Await(Acknowledged(200)),
                )
            ),
            Pass(3_000),
        ),
        duration_ms=50_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=3, brokers=2, quorum=Quorum.STATIC),
    workload=LogWorkload(rate=100, producers=2, min_insync_replicas=1),
    kafka_version="4.1.1",
    expectations=(
        Expectation(
            Validity.INVALID, ("epoch-run-away",), before="4.0.0", why="KIP-996: pre-vote came with 4.0.0"
        ),
    ),
    ticket="KIP-996",
    promises=("KIP-996",),
)
