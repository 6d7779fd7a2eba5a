"""kips/kip-595-one-way: the quorum's leader is cut off in one direction only, and then in the other."""

from harness.vocabulary import (
    Acknowledged,
    Among,
    Await,
    Heal,
    Inject,
    LeadsQuorum,
    LogWorkload,
    Mode,
    Move,
    Partition,
    Pass,
    Pattern,
    Scenario,
    ScriptedSchedule,
    Target,
    Topology,
    VotersCaughtUp,
)


def _cut(name: str, pattern: Pattern, *, inward: bool) -> tuple[Move, ...]:
    """Cut the current leader off in one direction, and wait for a leader and all voters afterwards."""
    cut = Partition(pattern, Target.ACTIVE_CONTROLLER, among=Among.CONTROLLERS, inward=inward)
    return (
        Await(LeadsQuorum()),
        Inject(name, cut),
        Pass(8_000),
        Heal(name),
        Await(LeadsQuorum()),
        Await(VotersCaughtUp(), within_ms=60_000),
        Await(Acknowledged(100)),
    )


SCENARIO = Scenario(
    summary="Cut the leader's calls to the other controllers, then theirs to it, then its packets each way.",
    why=(
        "A leader that can send requests but receives none still tells the voters that it leads "
        "(BeginQuorumEpoch), but no majority fetches from it, so it must resign. A leader that receives "
        "requests but can't send any may stay. There must never be two leaders."
    ),
    schedule=ScriptedSchedule(
        moves=(
            Await(Acknowledged(100), within_ms=60_000),
            *_cut("its-calls", Pattern.ONE_WAY_CALLS, inward=False),
            *_cut("calls-to-it", Pattern.ONE_WAY_CALLS, inward=True),
            *_cut("its-packets", Pattern.ONE_WAY_PACKETS, inward=False),
            *_cut("packets-to-it", Pattern.ONE_WAY_PACKETS, inward=True),
            Await(Acknowledged(100)),
            Pass(3_000),
        ),
        duration_ms=60_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=3, brokers=2),
    workload=LogWorkload(rate=100, producers=2, min_insync_replicas=1),
    versions_min="4.0.0",
    ticket="KIP-595, KIP-996",
)
