"""findings/new-disk: the leader resigns while a voter with a new disk knows no voter yet.

``KafkaRaftClient.handleEndQuorumEpochRequest`` looks up the leader's endpoint in the last set of voters,
which is empty on a new disk, and ends if the leader is not in it.  Whether EndQuorumEpoch or the answer to a
fetch arrives first is a race, so this is tried with two voters.
"""

from harness.vocabulary import (
    Acknowledged,
    Await,
    Expectation,
    Heal,
    Inject,
    LeadsQuorum,
    LogWorkload,
    Member,
    Mode,
    Move,
    Pass,
    Pause,
    Scenario,
    ScriptedSchedule,
    Target,
    Topology,
    Validity,
    VotersCaughtUp,
    WipeDisk,
    controllers,
)
from scenarios.quorum import added, joined, removed

_C = controllers(3)


def _replaced(voter: Member, others: tuple[Member, ...], name: str) -> tuple[Move, ...]:
    """Replace a voter's disk; the leader is paused until the voter has started, and resigns then."""
    return (
        Inject(f"{name}-disk", WipeDisk(voter)),
        Inject(f"{name}-leader", Pause(Target.ACTIVE_CONTROLLER)),
        Heal(f"{name}-disk"),
        Pass(5_000),
        Heal(f"{name}-leader"),
        Await(LeadsQuorum(), within_ms=60_000),
        *removed(voter, others),
        *added(voter, (*others, voter)),
    )


SCENARIO = Scenario(
    summary="Replace the disk of a voter while the leader is paused; the leader resigns when it goes on.",
    why=(
        "A leader that resigns sends EndQuorumEpoch to each voter, also to one that has an empty disk and "
        "knows no voter. A node that can't handle a request answers with an error. It must not end."
    ),
    schedule=ScriptedSchedule(
        moves=(
            *joined(_C, 2),
            *joined(_C, 3),
            Await(LeadsQuorum(_C[0])),
            Await(Acknowledged(100)),
            *_replaced(_C[1], (_C[0], _C[2]), "second"),
            Await(VotersCaughtUp()),
            *_replaced(_C[2], (_C[0], _C[1]), "third"),
            Await(VotersCaughtUp()),
            Pass(3_000),
        ),
        duration_ms=70_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=3, brokers=2, standalone=True),
    workload=LogWorkload(rate=100, producers=2, min_insync_replicas=1),
    versions_min="3.9.0",
    expectations=(
        Expectation(
            Validity.INVALID,
            ("node-died",),
            consequences=("not-recovered",),
            why="a node that knows no voter ends when the leader resigns, if it has not fetched before",
        ),
    ),
    ticket="KIP-853",
)
