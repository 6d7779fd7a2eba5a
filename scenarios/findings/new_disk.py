"""findings/new-disk: the leader resigns while a voter with a new disk knows no voter yet.

EndQuorumEpoch does not have the endpoints of the leader, so ``KafkaRaftClient.handleEndQuorumEpochRequest``
looks for them in the last set of voters, which is empty on a new disk, and ends.  A node that has got the
answer to a fetch already knows the endpoints.  This node's bootstrap server is itself, and the third voter is
paused, so that no other message names a leader's endpoints before the request; it would be a race otherwise.
"""

from harness.vocabulary import (
    Acknowledged,
    Assumptions,
    Await,
    Configure,
    Expectation,
    Heal,
    Inject,
    LeadsQuorum,
    LogWorkload,
    Mode,
    Pass,
    Pause,
    Scenario,
    ScriptedSchedule,
    Topology,
    Validity,
    WipeDisk,
    controllers,
)
from scenarios.quorum import joined

_C = controllers(3)

SCENARIO = Scenario(
    summary="Replace the disk of a voter while both others are paused; the leader resigns when it goes on.",
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
            Configure(_C[1], {"controller.quorum.bootstrap.servers": "{c2}:9093"}),
            Inject("disk", WipeDisk(_C[1])),
            Inject("leader", Pause(_C[0])),
            Inject("follower", Pause(_C[2])),
            Heal("disk"),
            Pass(5_000),
            Heal("leader"),
            Pass(5_000),
            Heal("follower"),
            Await(LeadsQuorum(), within_ms=30_000),
            Pass(3_000),
        ),
        duration_ms=50_000,
    ),
    topology=Topology(mode=Mode.ISOLATED, controllers=3, brokers=2, standalone=True),
    workload=LogWorkload(rate=100, producers=2, min_insync_replicas=1),
    versions_min="3.9.0",
    assumptions=Assumptions(recovery_ms=30_000, why_lowered="it ends within seconds or not at all"),
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
